"""vLLM in processes of their own, whose threads, random state and process group it takes over."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from rewards.errors import ConfigurationError, MissingExtraError
from tests.trainer.ranks import run_ranks
from tests.trainer.sampling import collect
from trainer.batch import Example, collate
from trainer.config import Config
from trainer.distributed import World
from trainer.policy import Policy, load_policy
from trainer.rollout import Group, Prompt, RolloutEngine, Sampling
from trainer.rollout.engines import open_engine
from trainer.rollout.hf import HFEngine
from trainer.rollout.vllm import StaleCacheError, VLLMEngine, sampled_logprobs

pytest.importorskip("vllm", reason="vLLM is not installed")

SAMPLING = Sampling(num_samples=4, max_new_tokens=12, stream="0/1", temperature=0.7)
MAX_LENGTH = 32


@pytest.fixture(scope="module")
def configs(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Config]:
    """All weights with an untied head, and LoRA both ways with a tied one.

    vLLM's CPU attention has no heads as small as those of the model of the other tests.
    """
    tokenizer = PreTrainedTokenizerFast.from_pretrained(model_folder)
    folders = {}
    for tied in (False, True):
        folders[tied] = str(tmp_path_factory.mktemp("model"))
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=64,
            tie_word_embeddings=tied,
            initializer_range=0.2,
            bos_token_id=None,
            eos_token_id=1,
        )
        LlamaForCausalLM(config).save_pretrained(folders[tied])  # type: ignore[no-untyped-call]
        tokenizer.save_pretrained(folders[tied])
    base = Config(
        rollout="vllm", device="cpu", learning_rate=0.01, beta=0.0, vllm_kv_gb=0.05,
        rollout_batch_size=32,
    )  # fmt: skip
    lora = replace(base, model=folders[True], lora_rank=4)
    return {
        "full": replace(base, model=folders[False]),
        "merged": lora,
        "adapter": replace(lora, vllm_lora="adapter"),
    }


def distance(policy: Policy, groups: list[Group]) -> float:
    """Return the largest difference from the trainer's log-probabilities."""
    rows = [
        [Example(group.prompt, s, (0.0,) * len(s.ids))] for group in groups for s in group.samples
    ]
    batch = collate(rows, policy.device)
    with torch.no_grad():
        logprobs_N, _ = policy.scorer(
            batch.ids_BT, batch.position_BT, batch.source_N, batch.targets_N,
            packed=False, temperature=SAMPLING.temperature, with_entropy=False,
        )  # fmt: skip
    return float((logprobs_N - batch.rollout_logprobs_N).abs().max())


def update(policy: Policy) -> None:
    """Take ten optimiser steps in a random direction."""
    torch.manual_seed(1)
    for parameter in policy.model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.randn_like(parameter)
    for _ in range(10):
        policy.optimizer.step()


@dataclass
class Facts:
    """What came out before and after ten updates."""

    before: list[Group]
    after: list[Group]
    distances: dict[str, float]


def draw(policy: Policy, engine: RolloutEngine, prompts: list[Prompt]) -> list[Group]:
    """Sample on all ranks, and return all groups."""
    engine.sync()
    mine = prompts[engine.replica :: engine.num_replicas]
    parts = policy.world.gather(collect(mine, engine.generate(mine, SAMPLING)))
    return [group for part in parts for group in part if group.samples]


def compare(policy: Policy, engine: RolloutEngine, prompts: list[Prompt]) -> Facts:
    """Sample, update, and sample again with both engines."""
    before = draw(policy, engine, prompts)
    other = HFEngine(policy, policy.config)
    distances = {
        "vllm before": distance(policy, before),
        "hf before": distance(policy, draw(policy, other, prompts)),
    }
    engine.release()
    update(policy)
    after = draw(policy, engine, prompts)
    distances["vllm after"] = distance(policy, after)
    distances["hf after"] = distance(policy, draw(policy, other, prompts))
    return Facts(before, after, distances)


def record_calls(engine: VLLMEngine) -> list[str]:
    """Let the engine note in the returned list what it has vLLM do."""
    calls: list[str] = []

    def noting(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            calls.append(" ".join([name, *map(str, args), *map(str, kwargs.get("kwargs", ()))]))
            return call(*args, **kwargs)

        return noted

    for name in ("sleep", "wake_up", "collective_rpc", "reset_prefix_cache"):
        setattr(engine._llm, name, noting(name, getattr(engine._llm, name)))
    return calls


def explore(policy: Policy, engine: VLLMEngine, prompts: list[Prompt]) -> dict[str, Any]:
    """Try one engine in all ways that need no other."""
    from vllm.logprobs import Logprob
    from vllm.outputs import CompletionOutput

    def sample(prompts: list[Prompt], sampling: Sampling = SAMPLING) -> list[Group]:
        return collect(prompts, engine.generate(prompts, sampling))

    facts: dict[str, Any] = {}
    engine.sync()
    facts["all"] = sample(prompts)
    facts["reversed"] = sample(prompts[::-1])
    facts["some"] = sample(prompts[2:4])
    facts["lengths"] = [len(f.sample.ids) for f in engine.generate(prompts, SAMPLING)]
    likely = replace(SAMPLING, max_new_tokens=1, num_samples=40, top_p=0.6)
    facts["top_p"] = sample(prompts[:1], likely)
    other = HFEngine(policy, policy.config)
    facts["top_p of hf"] = collect(prompts[:1], other.generate(prompts[:1], likely))
    given_up = engine.generate(prompts, SAMPLING)
    list(itertools.islice(given_up, 3))
    given_up.close()  # type: ignore[attr-defined]
    calls = record_calls(engine)
    engine.release()
    engine.sync()
    facts["calls"] = list(calls)
    facts["after giving up"] = sample(prompts)
    policy.model.generation_config.eos_token_id = [1, 7]
    facts["two ends"] = sample(prompts)
    policy.model.generation_config.eos_token_id = 1
    setattr(engine._llm, "reset_prefix_cache", lambda: False)  # noqa: B010
    with pytest.raises(StaleCacheError) as caught:
        engine.sync()
    facts["stale"] = str(caught.value)
    delattr(engine._llm, "reset_prefix_cache")
    known = {5: Logprob(-0.5), 6: Logprob(-0.1)}
    drawn = CompletionOutput(0, "", [5, 6], None, [known, None])  # type: ignore[list-item]
    facts["missing"] = sampled_logprobs(drawn)
    return facts


def _on_one_rank(
    world: World, configs: dict[str, Config], prompts: list[Prompt]
) -> tuple[dict[str, Any], dict[str, Facts]]:
    explored, compared = {}, {}
    small = replace(configs["full"], vllm_kv_gb=1e-5)
    with pytest.raises(ConfigurationError) as refused:
        open_engine(load_policy(small, world), small, MAX_LENGTH)
    for name, config in configs.items():
        policy = load_policy(config, world)
        engine = open_engine(policy, config, MAX_LENGTH)
        assert isinstance(engine, VLLMEngine)
        if name == "full":
            explored = explore(policy, engine, prompts) | {"refused": str(refused.value)}
        compared[name] = compare(policy, engine, prompts)
        if name == "adapter":
            compared["adapter ids"] = engine._llm.llm_engine.list_loras()  # type: ignore[assignment]
        engine.close()
    return explored, compared


def _on_two_ranks(world: World, config: Config, prompts: list[Prompt]) -> Facts:
    policy = load_policy(config, world)
    engine = open_engine(policy, config, MAX_LENGTH)
    facts = compare(policy, engine, prompts)
    engine.close()
    return facts


@pytest.fixture(scope="module")
def one_rank(
    configs: dict[str, Config], prompts: list[Prompt]
) -> tuple[dict[str, Any], dict[str, Facts]]:
    results: list[tuple[dict[str, Any], dict[str, Facts]]] = run_ranks(
        _on_one_rank, configs, prompts[:6], ranks=1, timeout_s=400
    )
    return results[0]


@pytest.fixture(scope="module")
def explored(one_rank: tuple[dict[str, Any], dict[str, Facts]]) -> dict[str, Any]:
    return one_rank[0]


@pytest.fixture(scope="module")
def compared(one_rank: tuple[dict[str, Any], dict[str, Facts]]) -> dict[str, Facts]:
    return one_rank[1]


def ids(groups: list[Group]) -> dict[str, list[tuple[int, ...]]]:
    return {group.prompt.id: [s.ids for s in group.samples] for group in groups}


@pytest.mark.parametrize("name", ["full", "merged", "adapter"])
def test_both_engines_agree_with_the_trainer_before_and_after_ten_updates(
    compared: dict[str, Facts], name: str
) -> None:
    assert max(compared[name].distances.values()) < 1e-4
    assert ids(compared[name].before) != ids(compared[name].after)


@pytest.mark.parametrize(("name", "tensor_parallel"), [("full", 1), ("merged", 2)])
def test_two_ranks_sample_what_one_does(
    compared: dict[str, Facts],
    configs: dict[str, Config],
    prompts: list[Prompt],
    name: str,
    tensor_parallel: int,
) -> None:
    config = replace(configs[name], vllm_tensor_parallel=tensor_parallel)
    for facts in run_ranks(_on_two_ranks, config, prompts[:6], timeout_s=400):
        assert max(facts.distances.values()) < 1e-4
        assert ids(facts.before) == ids(compared[name].before)


def test_order_changes_no_sample(explored: dict[str, Any]) -> None:
    assert ids(explored["reversed"]) == ids(explored["all"])


def test_neighbours_change_no_sample(explored: dict[str, Any]) -> None:
    assert ids(explored["some"]).items() <= ids(explored["all"]).items()


def test_verl_5179_members_of_a_group_differ(explored: dict[str, Any]) -> None:
    # verl 5179, SkyRL 1042: one seed for all requests made groups of copies.
    assert all(len({s.ids for s in group.samples}) > 1 for group in explored["all"])


def test_completions_are_handed_out_as_they_finish(explored: dict[str, Any]) -> None:
    assert explored["lengths"] == sorted(explored["lengths"])
    assert explored["lengths"][0] < 12


def test_trl_7039_the_reason_for_finishing_tells_what_was_cut_off(explored: dict[str, Any]) -> None:
    # trl 7039: with several end tokens, the last id does not tell.
    samples = [s for group in explored["two ends"] for s in group.samples]
    assert {s.ids[-1] for s in samples if s.finish_reason == "stop"} == {1, 7}
    cut_off = [s for s in samples if s.truncated]
    assert cut_off
    assert all(len(s.ids) == 12 and not {1, 7} & set(s.ids) for s in cut_off)


def test_text_is_decoded_without_special_tokens(explored: dict[str, Any]) -> None:
    samples = [s for group in explored["all"] for s in group.samples]
    assert any(1 in s.ids for s in samples)
    # Ids 0 to 2 are the special ones; each other one is a word.
    assert all(len(s.text.split()) == sum(i > 2 for i in s.ids) for s in samples)


def test_top_p_means_the_same_in_both_engines(explored: dict[str, Any]) -> None:
    ours, other = (
        {s.ids[0]: s.logprobs[0] for s in explored[name][0].samples}
        for name in ("top_p", "top_p of hf")
    )
    assert ours == pytest.approx(other, abs=1e-5)


def test_trl_5142_vllm_15254_weights_are_written_between_the_two_steps_of_waking_up(
    explored: dict[str, Any],
) -> None:
    # trl 5142, vllm 29341: written while asleep, or read again from disk; vllm 15254: both at once.
    assert explored["calls"] == [
        "sleep 2",
        "wake_up ['weights']",
        "collective_rpc reload_weights weights_iterator",
        "wake_up ['kv_cache']",
        "reset_prefix_cache",
    ]


def test_vllm_9744_a_prefix_cache_that_is_not_reset_is_an_error(explored: dict[str, Any]) -> None:
    # vllm 9744, prime-rl 1650: keys and values of old weights went on being used.
    assert "prefix cache" in explored["stale"]


def test_sampling_may_be_given_up_and_begun_again(explored: dict[str, Any]) -> None:
    assert explored["after giving up"] == explored["all"]


def test_trl_2698_each_sync_sends_the_adapter_under_a_fresh_id(compared: dict[str, Any]) -> None:
    # vLLM goes on with the old adapter where it knows the id.
    assert compared["adapter ids"] == {2}


def test_a_missing_log_probability_is_not_a_number(explored: dict[str, Any]) -> None:
    # trl 6166: None crashed the step. NeMo-RL 3297: it is the sampled token's, not the likeliest.
    first, second = explored["missing"]
    assert first == -0.5
    assert math.isnan(second)


def test_a_cache_that_is_too_small_is_refused_by_the_name_of_its_setting(
    explored: dict[str, Any],
) -> None:
    assert "vllm_kv_gb" in explored["refused"]


def test_ranks_that_cannot_be_grouped_are_refused(policy: Policy, config: Config) -> None:
    policy.world = World(rank=0, size=3)
    with pytest.raises(ConfigurationError, match=r"vllm_tensor_parallel 2 must divide .* 3"):
        VLLMEngine(policy, replace(config, vllm_tensor_parallel=2), MAX_LENGTH)


def test_a_missing_vllm_names_its_extra(
    policy: Policy, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(MissingExtraError, match=r"\[vllm\]"):
        open_engine(policy, replace(config, rollout="vllm"), MAX_LENGTH)
