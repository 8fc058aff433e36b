from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
import transformers

from rewards.errors import ConfigurationError, MissingExtraError
from trainer.config import Config
from trainer.loggers import check_logger
from trainer.policy import (
    Policy,
    choose_device,
    learning_rate_at,
    load_model,
    load_model_config,
    make_optimizer,
    model_path,
)
from trainer.prompts import encode_prompt, encode_prompts
from trainer.tasks import Row


def test_the_learning_rate_rises_linearly_and_stays() -> None:
    config = Config(learning_rate=1.0, warmup_steps=4)
    assert [learning_rate_at(s, config) for s in (1, 2, 4, 9)] == [0.25, 0.5, 1.0, 1.0]


def test_without_warm_up_the_learning_rate_is_constant() -> None:
    assert learning_rate_at(1, Config(learning_rate=0.5)) == 0.5


def test_a_linear_schedule_falls_to_0_after_the_last_step() -> None:
    config = Config(learning_rate=1.0, warmup_steps=2, steps=5, lr_schedule="linear")
    rates = [learning_rate_at(step, config) for step in (1, 2, 3, 4, 5, 6)]
    assert rates == [0.5, 1.0, 0.75, 0.5, 0.25, 0.0]


def test_only_matrices_decay(policy: Policy) -> None:
    matrices, rest = make_optimizer(policy.model, 1e-3, 0.1).param_groups
    assert (matrices["weight_decay"], rest["weight_decay"]) == (0.1, 0.0)
    assert all(p.ndim >= 2 for p in matrices["params"])
    assert all(p.ndim < 2 for p in rest["params"])


def test_weights_are_float32_whatever_the_file_says(model_folder: Path, tmp_path: Path) -> None:
    load_model(str(model_folder), torch.device("cpu")).bfloat16().save_pretrained(tmp_path)
    model = load_model(str(tmp_path), torch.device("cpu"))
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_rewriting_the_file_of_a_loaded_model_does_not_change_it(
    model_folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(model_folder, tmp_path / "m")
    model = load_model(str(tmp_path / "m"), torch.device("cpu"))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    weights = tmp_path / "m" / "model.safetensors"
    with weights.open("r+b") as file:
        file.seek(weights.stat().st_size // 2)
        file.write(bytes(weights.stat().st_size // 2))
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())


def test_the_reference_is_frozen_and_another_copy(policy: Policy) -> None:
    assert policy.reference is not None
    assert not any(p.requires_grad for p in policy.reference.parameters())
    assert policy.reference.lm_head.weight.data_ptr() != policy.model.lm_head.weight.data_ptr()


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"holds no config\.json; give 'tiny'"):
        model_path(str(tmp_path))


def test_a_folder_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="is not a folder"):
        model_path("./no/such/folder")


def test_a_model_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ConfigurationError, match="cannot load the model"):
        load_model(str(tmp_path), torch.device("cpu"))


def test_weights_that_are_cut_off_are_refused(model_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(model_folder, tmp_path / "m")
    weights = tmp_path / "m" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ConfigurationError, match="cannot load the model"):
        load_model(str(tmp_path / "m"), torch.device("cpu"))


@pytest.mark.parametrize("name", ["no/such/folder", ".hidden", "outputs/run/checkpoints/step-1"])
def test_what_can_be_no_id_of_the_hub_is_a_folder(name: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a folder"):
        model_path(name)


@pytest.mark.parametrize("name", ["gpt2", "Qwen/Qwen2.5-0.5B-Instruct"])
def test_what_can_be_an_id_of_the_hub_is_left_to_it(name: str) -> None:
    assert model_path(name) == name


@pytest.mark.parametrize(
    ("kind", "layers"), [("Lfm2Config", "conv"), ("Qwen3NextConfig", "linear_attention")]
)
def test_a_model_with_more_state_than_attentions_cache_is_refused(
    tmp_path: Path, kind: str, layers: str
) -> None:
    types = [layers, "full_attention"]
    getattr(transformers, kind)(num_hidden_layers=2, layer_types=types).save_pretrained(tmp_path)
    with pytest.raises(ConfigurationError, match=f"models with layers of type {layers} besides"):
        load_model_config(str(tmp_path))


def test_a_model_whose_sampling_settings_contradict_each_other_can_be_saved(
    model_folder: Path, tmp_path: Path
) -> None:
    # vicuna: temperature and top_p without do_sample, which transformers refuses to write.
    shutil.copytree(model_folder, tmp_path / "m")
    (tmp_path / "m" / "generation_config.json").write_text(
        '{"temperature": 0.9, "top_p": 0.6, "eos_token_id": [1, 7], "pad_token_id": 0}'
    )
    model = load_model(str(tmp_path / "m"), torch.device("cpu"))
    model.save_pretrained(tmp_path / "saved")
    saved = json.loads((tmp_path / "saved" / "generation_config.json").read_text())
    assert (saved["eos_token_id"], saved["pad_token_id"]) == ([1, 7], 0)
    assert not {"temperature", "top_p"} & saved.keys()


def test_a_frozen_model_can_be_held_in_the_dtype_of_the_passes(model_folder: Path) -> None:
    model = load_model(str(model_folder), torch.device("cpu"), torch.bfloat16)
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "meta", "hpu", "mps:7"])
def test_a_device_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"device '{name}' cannot be used"):
        choose_device(name)


def test_without_a_chat_template_text_is_continued(policy: Policy) -> None:
    prompt = encode_prompt(policy.tokenizer, Row("r", "a b", {}))
    assert (prompt.ids, prompt.text) == ((3, 4), "a b")


def test_with_a_chat_template_text_is_the_users_message(policy: Policy) -> None:
    policy.tokenizer.chat_template = (
        "<unk>{% for m in messages %} {{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %} p{% endif %}"
    )
    prompt = encode_prompt(policy.tokenizer, Row("r", "a b", {}))
    messages = encode_prompt(policy.tokenizer, Row("r", [{"role": "user", "content": "a b"}], {}))
    assert prompt.text == "<unk> a b p"
    assert prompt == messages


def test_a_chat_template_that_writes_the_date_writes_the_same_every_day(policy: Policy) -> None:
    policy.tokenizer.chat_template = "{{ strftime_now('%d %b %Y') }} {{ messages[0].content }}"
    assert encode_prompt(policy.tokenizer, Row("r", "a", {})).text == "01 Jan 2026 a"


def test_a_prompt_that_the_chat_template_refuses_names_its_row(policy: Policy) -> None:
    policy.tokenizer.chat_template = "{{ raise_exception('no system role') }}"
    with pytest.raises(ConfigurationError, match=r"refuses the prompt of row 'r': no system role"):
        encode_prompts(policy.tokenizer, [Row("r", "a", {})], max_new_tokens=1, max_length=64)


def test_the_chat_template_is_encoded_without_a_second_begin_token(policy: Policy) -> None:
    # trl 3520: the template writes the begin token, and the tokenizer wrote it again.
    policy.tokenizer.chat_template = "<unk> {{ messages[0].content }}"
    prompt = encode_prompt(policy.tokenizer, Row("r", "a", {}))
    assert prompt.ids == (2, 3)


def test_a_prompt_that_leaves_no_room_is_refused(policy: Policy) -> None:
    row = Row("long", "a " * 60, {})
    with pytest.raises(ConfigurationError, match="row 'long': 60 prompt tokens"):
        encode_prompts(policy.tokenizer, [row], max_new_tokens=8, max_length=64)


def test_a_missing_logger_names_its_extra() -> None:
    pytest.importorskip("torch")
    for name in ("wandb", "trackio"):
        try:
            __import__(name)
        except ImportError:
            with pytest.raises(MissingExtraError, match=rf"assay-rl\[{name}\]"):
                check_logger(name)
