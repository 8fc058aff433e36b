"""The measurements behind the numbers in the README; each module is run with `python -m`."""
