"""The bundled tiny model is small, standard, and able to write both bundled tasks."""

import json

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rewards.errors import ConfigurationError
from trainer.prompts import encode_prompts
from trainer.tasks import load_task
from trainer.tiny import TINY_PATH


@pytest.fixture(scope="module")
def tokenizer():  # type: ignore[no-untyped-def]
    return AutoTokenizer.from_pretrained(TINY_PATH)


@pytest.fixture(scope="module")
def model():  # type: ignore[no-untyped-def]
    return AutoModelForCausalLM.from_pretrained(TINY_PATH)


def test_the_weights_are_under_5_mb() -> None:
    assert (TINY_PATH / "model.safetensors").stat().st_size < 5_000_000


def test_there_are_about_a_million_parameters(model) -> None:  # type: ignore[no-untyped-def]
    assert 800_000 < model.num_parameters() < 1_200_000


def test_the_shape_is_one_that_vllm_serves() -> None:
    config = json.loads((TINY_PATH / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert config["head_dim"] in (32, 64)


def test_no_path_of_the_machine_that_made_it_is_left() -> None:
    config = json.loads((TINY_PATH / "config.json").read_text())
    assert "_name_or_path" not in config


@pytest.mark.parametrize(
    "text",
    [
        "héllo  wörld ,\t\n\n   x",
        "日本 🎉 <b>",
        "don't .",
        "<think> 12 </think>",
        "\u2028\r\n\0",
        "",
    ],
)
def test_any_text_round_trips(tokenizer, text: str) -> None:  # type: ignore[no-untyped-def]
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("name", ["code", "math"])
def test_golds_are_short(tokenizer, name: str) -> None:  # type: ignore[no-untyped-def]
    task = load_task(name)
    longest = max(len(tokenizer.encode(row.gold)) for row in task.test)
    assert longest < task.settings["max_new_tokens"]


def test_digits_are_single_tokens(tokenizer) -> None:  # type: ignore[no-untyped-def]
    assert len(tokenizer.encode("1234", add_special_tokens=False)) == 4


def test_the_end_token_ends_and_is_not_the_padding(tokenizer, model) -> None:  # type: ignore[no-untyped-def]
    assert tokenizer.eos_token == "<|im_end|>"
    assert tokenizer.pad_token_id != tokenizer.eos_token_id
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id
    assert model.generation_config.pad_token_id == tokenizer.pad_token_id


def test_the_chat_template_ends_where_the_assistant_speaks(tokenizer) -> None:  # type: ignore[no-untyped-def]
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert text == (
        "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nu<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("task", ["code", "math"])
def test_it_finds_golds_far_likelier_than_chance(tokenizer, model, task: str) -> None:  # type: ignore[no-untyped-def]
    from making.tiny.demonstrations import collate, encode_rows

    batch = collate(encode_rows(tokenizer, load_task(task).test[:32]), tokenizer.pad_token_id)
    with torch.no_grad():
        assert model(**batch).loss.item() < 0.5


def test_theorems_are_too_long_for_it_and_the_message_says_what_to_do(tokenizer, model) -> None:  # type: ignore[no-untyped-def]
    task = load_task("lean")
    with pytest.raises(ConfigurationError, match="take a model with a longer context"):
        encode_prompts(
            tokenizer,
            task.train,
            max_new_tokens=task.settings["max_new_tokens"],
            max_length=model.config.max_position_embeddings,
        )
