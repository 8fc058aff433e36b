"""The built-in verifiers, one module or sub-package each; found by name through the registry."""
