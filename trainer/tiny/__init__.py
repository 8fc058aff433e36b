"""The bundled tiny model: a million parameters that start the tasks code and math half able.

``python -m making.tiny`` made it, in a checkout of the project. It is a standard Hugging Face
llama, so whatever loads a large model (transformers, vLLM) loads this one from ``TINY_PATH``.
"""

from pathlib import Path

__all__ = ["TINY_PATH"]

TINY_PATH = Path(__file__).parent / "model"
"""The folder with the weights, the configuration and the tokenizer."""
