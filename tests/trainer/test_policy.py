from __future__ import annotations

import copy
import json
import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import peft
import pytest
import torch
import transformers
from safetensors.torch import load_file
from torch import Tensor

from rewards.errors import ConfigurationError, MissingExtraError
from trainer.config import Config
from trainer.distributed import World
from trainer.loggers import check_logger
from trainer.logprobs import TokenLogprobs
from trainer.lora import base_name, save_adapter
from trainer.model import choose_attention, load_model, load_model_config, model_path
from trainer.policy import Policy, apply_gradient, learning_rate_at, load_policy, make_optimizer
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
    with policy.reference() as reference:
        assert not any(p.requires_grad for p in reference.parameters())
        theirs, ours = reference.model.lm_head.weight, policy.model.lm_head.weight
        assert theirs.data_ptr() != ours.data_ptr()


def test_without_a_divergence_no_reference_is_loaded(config: Config) -> None:
    assert load_policy(replace(config, beta=0.0), World()).frozen is None


def test_trl7039_every_id_that_ends_a_completion_is_known(policy: Policy) -> None:
    policy.model.generation_config.eos_token_id = [7, 9]
    assert policy.eos_ids == {1, 7, 9}  # 1 is the tokenizer's


def test_an_id_that_the_model_cannot_produce_ends_nothing(policy: Policy) -> None:
    policy.model.generation_config.eos_token_id = [7, 10**6]
    assert policy.eos_ids == {1, 7}


def test_full_weights_are_those_of_the_checkpoint(policy: Policy) -> None:
    found = {name: tensor.clone() for name, tensor in policy.full_weights()}
    expected = policy.model.state_dict()
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_full_weights_are_in_the_dtype_of_the_passes(config: Config) -> None:
    policy = load_policy(replace(config, dtype="bfloat16"), World())
    assert {tensor.dtype for _, tensor in policy.full_weights()} == {torch.bfloat16}
    assert {p.dtype for p in policy.scorer.parameters()} == {torch.float32}


def test_prime_rl1765_tied_weights_come_once(tied_folder: Path, config: Config) -> None:
    policy = load_policy(replace(config, model=str(tied_folder)), World())
    names = [name for name, _ in policy.full_weights()]
    assert len(names) == len(set(names))
    assert {"model.embed_tokens.weight", "lm_head.weight"} & set(names) == {
        "model.embed_tokens.weight"
    }


def score(policy: Policy, scorer: TokenLogprobs | None = None) -> Tensor:
    """Log-probabilities of some sequence."""
    ids_BT = torch.tensor([[3, 4, 5, 6, 7]])
    logprobs_N, _ = (scorer or policy.scorer)(
        ids_BT, torch.arange(5)[None], torch.arange(4), ids_BT[0, 1:], packed=False
    )
    return logprobs_N


def learn(policy: Policy, updates: int = 2) -> None:
    """Move the weights."""
    for _ in range(updates):
        (-score(policy).sum()).backward()
        apply_gradient(policy, learning_rate=0.05, max_grad_norm=1.0)


@pytest.fixture
def lora(config: Config) -> Policy:
    """A policy with adapters that have learned something."""
    policy = load_policy(replace(config, lora_rank=2), World())
    learn(policy)
    return policy


def test_adapters_change_nothing_at_first(config: Config, policy: Policy) -> None:
    lora = load_policy(replace(config, lora_rank=2), World())
    assert torch.equal(score(lora), score(policy))


def test_only_adapters_learn(lora: Policy, policy: Policy) -> None:
    base = policy.model.state_dict()
    for name, parameter in lora.model.named_parameters():
        assert parameter.requires_grad == (".lora_" in name)
        if ".lora_" not in name:
            assert torch.equal(parameter, base[base_name(name)])
    assert not torch.allclose(score(lora), score(policy))
    assert sum(len(group["params"]) for group in lora.optimizer.param_groups) == 2 * 2 * 7


def test_trl2698_what_is_sent_to_the_rollout_has_the_adapters_merged_in(
    lora: Policy, policy: Policy
) -> None:
    merged = {name: tensor.clone() for name, tensor in lora.full_weights()}
    policy.model.load_state_dict(merged)  # strict: the base model's names
    torch.testing.assert_close(score(policy), score(lora))


def test_verl7014_a_weight_stays_merged_after_the_next_one_is_asked_for(lora: Policy) -> None:
    together = list(lora.full_weights())
    one_by_one = [tensor.clone() for _, tensor in lora.full_weights()]
    assert all(torch.equal(a, b) for (_, a), b in zip(together, one_by_one, strict=True))


def test_merging_leaves_the_policy_as_it_is(lora: Policy) -> None:
    before = copy.deepcopy(lora.model.state_dict())
    list(lora.full_weights())
    assert all(torch.equal(before[k], v) for k, v in lora.model.state_dict().items())


def test_without_its_adapters_the_policy_is_its_reference(lora: Policy, policy: Policy) -> None:
    learned = score(lora)
    with lora.reference() as reference:
        assert reference is lora.scorer
        assert torch.equal(score(lora, reference), score(policy))
    assert torch.equal(score(lora), learned)


def test_adapters_go_on_learning_after_they_were_switched_off(lora: Policy) -> None:
    with lora.reference():
        pass
    before = score(lora)
    learn(lora)
    assert not torch.allclose(score(lora), before)


def test_equal_seeds_give_equal_adapters_and_leave_the_random_state_alone(config: Config) -> None:
    weights = []
    for i, seed in enumerate((0, 0, 1)):
        torch.manual_seed(i)
        state = torch.get_rng_state()
        lora = load_policy(replace(config, lora_rank=2, seed=seed), World())
        assert torch.equal(torch.get_rng_state(), state)
        weights.append(lora.model.model.layers[0].mlp.up_proj.lora_A["default"].weight)
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_adapters_are_written_as_peft_reads_them(
    lora: Policy, tmp_path: Path, model_folder: Path
) -> None:
    save_adapter(lora.model, tmp_path)
    base = load_model(str(model_folder), torch.device("cpu"))
    loaded = peft.PeftModel.from_pretrained(base, tmp_path)
    ids_BT = torch.tensor([[3, 4, 5]])
    assert torch.equal(loaded(ids_BT).logits, lora.model(ids_BT).logits)


@pytest.mark.parametrize(
    ("targets", "complaint"),
    [
        ("no_such_layer", "'no_such_layer': Target modules"),
        ("q_proj, embed_tokens", "includes model.embed_tokens, which is not a linear layer"),
    ],
)
def test_targets_that_can_have_no_adapter_are_refused(
    config: Config, targets: str, complaint: str
) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        load_policy(replace(config, lora_rank=2, lora_targets=targets), World())


def test_full_weights_have_the_names_of_the_file_and_not_those_of_the_model(
    config: Config, experts_folder: Path
) -> None:
    policy = load_policy(replace(config, model=str(experts_folder)), World())
    found = {name: tensor.clone() for name, tensor in policy.full_weights()}
    expected = load_file(experts_folder / "model.safetensors")
    assert found.keys() == expected.keys() != policy.model.state_dict().keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.mark.filterwarnings("ignore:The following .*_pattern keys did not match")
def test_adapters_of_stacked_experts_are_refused(config: Config, experts_folder: Path) -> None:
    lora = replace(config, model=str(experts_folder), lora_rank=2)
    with pytest.raises(ConfigurationError, match=r"includes .*experts.*, which is not a linear"):
        load_policy(lora, World())


def test_adapters_are_put_where_they_are_asked_for(config: Config) -> None:
    lora = load_policy(replace(config, lora_rank=2, lora_targets="q_proj, v_proj"), World())
    learning = [name for name, p in lora.model.named_parameters() if p.requires_grad]
    assert len(learning) == 2 * 2 * 2
    assert all(".q_proj." in name or ".v_proj." in name for name in learning)


def test_gradient_checkpointing_changes_no_gradient_and_keeps_less(config: Config) -> None:
    gradients, kept = [], []
    for on in (False, True):
        policy = load_policy(replace(config, gradient_checkpointing=on), World())
        saved: list[int] = []

        def pack(tensor: Tensor, saved: list[int] = saved) -> Tensor:
            saved.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            loss = score(policy).sum()
        loss.backward()
        gradients.append([p.grad for p in policy.scorer.parameters()])
        kept.append(sum(saved))
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))
    assert kept[1] < kept[0] / 5


@pytest.mark.parametrize("option", ["offload_optimizer", "offload_reference"])
def test_offloading_changes_no_update(config: Config, policy: Policy, option: str) -> None:
    offloaded = load_policy(replace(config, **{option: True}), World())
    learn(policy)
    learn(offloaded)
    assert torch.equal(score(offloaded), score(policy))
    with offloaded.reference() as a, policy.reference() as b:
        assert torch.equal(score(offloaded, a), score(policy, b))


def test_a_gradient_that_is_not_finite_is_dropped(
    policy: Policy, caplog: pytest.LogCaptureFixture
) -> None:
    before = score(policy)
    policy.model.lm_head.weight.grad = torch.full_like(policy.model.lm_head.weight, float("nan"))
    norm = apply_gradient(policy, learning_rate=0.05, max_grad_norm=1.0)
    assert norm != norm
    assert "this update is skipped" in caplog.text
    assert torch.equal(score(policy), before)
    assert all(p.grad is None for p in policy.scorer.parameters())


def test_gradients_are_scaled_down_to_their_limit_and_the_norm_before_is_returned(
    policy: Policy,
) -> None:
    (-score(policy).sum()).backward()
    expected = torch.cat([p.grad.flatten() for p in policy.scorer.parameters()]).norm()
    seen = []
    policy.optimizer.register_step_pre_hook(
        lambda *_: seen.append(
            torch.cat([p.grad.flatten() for p in policy.scorer.parameters()]).norm()
        )
    )
    norm = apply_gradient(policy, learning_rate=0.0, max_grad_norm=0.5)
    assert norm == pytest.approx(float(expected))
    assert float(seen[0]) == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("flash_attention_2", "needs a GPU and dtype bfloat16"),
        ("flash_attention_3", "needs a GPU and dtype bfloat16"),
        ("flex_attention", "does not learn on a CPU"),
    ],
)
def test_attention_that_cannot_run_here_is_refused(
    config: Config, name: str, complaint: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"attention '{name}' {complaint}; try auto"):
        load_policy(replace(config, attention=name), World())


def test_flash_attention_that_is_not_installed_is_refused(model_folder: Path) -> None:
    if find_spec("flash_attn"):
        pytest.skip("it is installed")
    model_config = load_model_config(str(model_folder))
    with pytest.raises(ConfigurationError, match="'flash_attention_2' needs the package flash-at"):
        choose_attention("flash_attention_2", torch.device("cuda"), torch.bfloat16, model_config)


@pytest.mark.parametrize("name", ["sdpa", "eager"])
def test_attention_is_what_was_asked_for(config: Config, name: str) -> None:
    policy = load_policy(replace(config, attention=name), World())
    assert policy.model.config._attn_implementation == name


def test_rows_are_packed_where_asked_for_or_where_that_costs_no_mask(config: Config) -> None:
    policy = load_policy(replace(config, beta=0.0), World())
    assert policy.pack_tokens == 0
    policy.model.config._attn_implementation_internal = "flash_attention_2"
    assert policy.pack_tokens == config.micro_batch_tokens
    policy.config = replace(config, pack_tokens=7)
    assert policy.pack_tokens == 7


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


def test_trl_3520_the_chat_template_is_encoded_without_a_second_begin_token(policy: Policy) -> None:
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
