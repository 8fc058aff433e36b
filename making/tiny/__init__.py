"""What made the bundled tiny model: a tokenizer, a llama, and demonstrations to fit it on."""
