"""What runs inside the sandbox; nothing here imports the rest of the library."""
