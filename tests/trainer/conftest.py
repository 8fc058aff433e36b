"""A random model small enough for every test, and a task it can learn: say "a"."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from trainer.config import Config
from trainer.distributed import World
from trainer.policy import Policy, load_policy
from trainer.rollout import Prompt
from trainer.tasks import Row, Task

WORDS = ["<pad>", "<eos>", "<unk>", *"abcdefghijklmnop"]

PLUGIN = '''
"""Pays for each word "a", and cannot judge what begins with "b"."""
import rewards


class CountSpec(rewards.Spec):
    type: str = "count_a"
    can_judge: bool = True


@rewards.verifier(name="count_a", spec=CountSpec)
def count_a(completion, spec):
    words = completion.text.split()
    if not spec.can_judge or (words and words[0] == "b"):
        return rewards.Score.unjudged("the counter is out of order")
    return rewards.Score.fraction(words.count("a") / max(1, len(words)), "counted")
'''


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several test processes share the cores
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random two-layer llama in Hugging Face layout, with a tokenizer of whole words."""
    folder = tmp_path_factory.mktemp("model")
    core = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=64,
        tie_word_embeddings=False,
        initializer_range=0.3,  # far from uniform, so that mistakes show
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=0,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tied_folder(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model with one matrix for embedding and head."""
    folder = tmp_path_factory.mktemp("tied")
    shutil.copytree(model_folder, folder, dirs_exist_ok=True)
    config = LlamaConfig.from_pretrained(model_folder, tie_word_embeddings=True)
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture
def experts_folder(model_folder: Path, tmp_path: Path) -> Path:
    """A model whose experts are one tensor here, and one each in its file."""
    shutil.copytree(model_folder, tmp_path, dirs_exist_ok=True)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_experts": 2, "head_dim": 8}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "num_experts_per_tok": 1}
    config = transformers.Qwen3MoeConfig(
        vocab_size=19, intermediate_size=16, moe_intermediate_size=8, **sizes, **heads
    )
    torch.manual_seed(0)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    return tmp_path


@pytest.fixture
def policy(base_config: Config) -> Policy:
    """A fresh policy with a reference."""
    return load_policy(replace(base_config, learning_rate=1e-3), World())


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a verifier of one's own."""
    path = tmp_path_factory.mktemp("plugin") / "count_a.py"
    path.write_text(PLUGIN, encoding="utf-8")
    return f"{path}:count_a"


def _prompts(count: int, seed: int) -> list[Prompt]:
    rng = random.Random(seed)
    prompts = []
    for i in range(count):
        ids = tuple(rng.randrange(3, len(WORDS)) for _ in range(rng.randrange(1, 9)))
        prompts.append(Prompt(f"p{i}", ids, " ".join(WORDS[t] for t in ids)))
    return prompts


def _rows(count: int, seed: int, **spec: object) -> list[Row]:
    return [
        Row(prompt.id, prompt.text, {"type": "count_a", **spec}) for prompt in _prompts(count, seed)
    ]


@pytest.fixture(scope="session")
def prompts() -> list[Prompt]:
    """Twenty prompts of one to eight tokens."""
    return _prompts(20, seed=0)


@pytest.fixture
def task() -> Task:
    """Sixteen training rows and six held out."""
    return _task()


@pytest.fixture(scope="session")
def shared_task() -> Task:
    """The same, for what is shared by many tests; they must not change it."""
    return _task()


def _task() -> Task:
    return Task("count", _rows(16, seed=0), _rows(6, seed=1))


@pytest.fixture
def unjudgeable_task() -> Task:
    """A task whose verifier is out of order."""
    return Task("count", _rows(16, seed=0, can_judge=False), _rows(6, seed=1))


@pytest.fixture
def config(base_config: Config, tmp_path: Path) -> Config:
    """A run of six small steps, in a folder of the test's own."""
    return replace(base_config, output_dir=str(tmp_path / "run"))


@pytest.fixture(scope="session")
def base_config(model_folder: Path, plugin: str) -> Config:
    """A run of six small steps."""
    return Config(
        task="count",
        model=str(model_folder),
        verifier=(plugin,),
        steps=6,
        prompts_per_step=4,
        group_size=4,
        max_new_tokens=8,
        learning_rate=3e-3,
        micro_batch_tokens=60,
        eval_every=3,
        eval_prompts=6,
        eval_samples=2,
        save_every=2,
        keep_checkpoints=10,
        device="cpu",
    )
