from __future__ import annotations

import copy
import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.trainer.ranks import run_ranks
from tests.trainer.sampling import collect
from trainer.config import Config
from trainer.distributed import World
from trainer.policy import Policy, load_policy
from trainer.rollout import Group, Prompt, Sample, Sampling, hf, packing, stream_seed
from trainer.rollout.engines import open_engine
from trainer.rollout.hf import HFEngine


def sample(
    policy: Policy,
    prompts: list[Prompt],
    *,
    num_samples: int = 4,
    max_new_tokens: int = 12,
    temperature: float = 1.0,
    top_p: float = 1.0,
    stream: str = "0/1",
    max_rows: int = 512,
) -> list[Group]:
    engine = HFEngine(policy, replace(policy.config, rollout_batch_size=max_rows))
    sampling = Sampling(num_samples, max_new_tokens, stream, temperature, top_p)
    return collect(prompts, engine.generate(prompts, sampling))


def ids(groups: list[Group]) -> dict[str, list[tuple[int, ...]]]:
    return {group.prompt.id: [s.ids for s in group.samples] for group in groups}


@pytest.fixture
def groups(policy: Policy, prompts: list[Prompt]) -> list[Group]:
    return sample(policy, prompts)


@pytest.fixture
def samples(groups: list[Group]) -> list[Sample]:
    return [s for group in groups for s in group.samples]


@pytest.mark.parametrize("max_rows", [1, 3, 7, 32])
def test_batch_size_changes_no_sample(
    policy: Policy, prompts: list[Prompt], groups: list[Group], max_rows: int
) -> None:
    assert ids(sample(policy, prompts, max_rows=max_rows)) == ids(groups)


def test_order_changes_no_sample(
    policy: Policy, prompts: list[Prompt], groups: list[Group]
) -> None:
    assert ids(sample(policy, prompts[::-1])) == ids(groups)


def test_neighbours_change_no_sample(
    policy: Policy, prompts: list[Prompt], groups: list[Group]
) -> None:
    assert ids(sample(policy, prompts[3:5])).items() <= ids(groups).items()


def test_group_size_changes_no_sample(
    policy: Policy, prompts: list[Prompt], groups: list[Group]
) -> None:
    larger = ids(sample(policy, prompts, num_samples=9))
    assert {name: drawn[:4] for name, drawn in larger.items()} == ids(groups)


def test_a_longer_limit_only_prolongs_samples(
    policy: Policy, prompts: list[Prompt], groups: list[Group]
) -> None:
    longer = ids(sample(policy, prompts, max_new_tokens=20))
    assert {n: [s[:12] for s in drawn] for n, drawn in longer.items()} == ids(groups)


def test_near_ties_are_decided_the_same_in_every_batch(
    policy: Policy, prompts: list[Prompt], monkeypatch: pytest.MonkeyPatch
) -> None:
    # With a noisy model, as large batches on other kernels are, only the rule for ties holds the
    # samples together. Noise of 1e-3 stands for that; ties are called below 0.05.
    exact = policy.model.forward

    def noisy(*args: object, **kwargs: object) -> object:
        output = exact(*args, **kwargs)
        if kwargs.get("use_cache"):
            output.logits = output.logits + 1e-3 * torch.randn_like(output.logits)
        return output

    monkeypatch.setattr(hf, "TIE", 0.05)
    monkeypatch.setattr(policy.model, "forward", noisy)
    torch.manual_seed(0)
    drawn = [ids(sample(policy, prompts, num_samples=40, max_rows=rows)) for rows in (800, 64)]
    assert drawn[0] == drawn[1]


def test_steps_draw_different_samples(
    policy: Policy, prompts: list[Prompt], groups: list[Group]
) -> None:
    assert ids(sample(policy, prompts, stream="0/2")) != ids(groups)


def test_verl_5179_members_of_a_group_differ(groups: list[Group]) -> None:
    # verl 5179, SkyRL 1042: one seed for all requests made groups of copies.
    assert all(len({s.ids for s in group.samples}) > 1 for group in groups)


def test_names_of_streams_cannot_run_into_each_other() -> None:
    assert stream_seed("0/1", "1", 0) != stream_seed("0/11", "", 0)


def test_samples_follow_the_models_distribution(policy: Policy) -> None:
    prompt = Prompt("p", (5, 6), "c d")
    drawn = sample(policy, [prompt], num_samples=4000, max_new_tokens=1, max_rows=4000)
    counts = Counter(s.ids[0] for s in drawn[0].samples)
    with torch.no_grad():
        probability_V = policy.model(torch.tensor([prompt.ids])).logits[0, -1].softmax(-1)
    for token, probability in enumerate(probability_V.tolist()):
        spread = (probability * (1 - probability) / 4000) ** 0.5
        assert counts[token] / 4000 == pytest.approx(probability, abs=5 * spread + 1e-4)


@pytest.mark.parametrize("temperature", [0.7, 1.0, 1.5])
def test_trl_4159_log_probabilities_are_of_the_distribution_drawn_from(
    policy: Policy, prompts: list[Prompt], temperature: float
) -> None:
    # trl 4159: raw log-probabilities at a temperature other than 1 bias the ratio.
    for group in sample(policy, prompts[:4], temperature=temperature):
        for drawn in group.samples:
            everything = torch.tensor([(*group.prompt.ids, *drawn.ids)])
            with torch.no_grad():
                logits_TV = policy.model(everything).logits[0] / temperature
            start = len(group.prompt.ids) - 1
            logprobs_CV = logits_TV.log_softmax(-1)[start : start + len(drawn.ids)]
            expected = [float(logprobs_CV[t, token]) for t, token in enumerate(drawn.ids)]
            assert list(drawn.logprobs) == pytest.approx(expected, abs=1e-5)


def test_a_stopped_sample_ends_with_the_end_token_and_has_no_other(samples: list[Sample]) -> None:
    stopped = [s for s in samples if s.finish_reason == "stop"]
    assert stopped
    assert all(s.ids[-1] == 1 and 1 not in s.ids[:-1] for s in stopped)


def test_a_truncated_sample_has_the_full_length_and_no_end_token(samples: list[Sample]) -> None:
    truncated = [s for s in samples if s.truncated]
    assert truncated
    assert all(len(s.ids) == 12 and 1 not in s.ids for s in truncated)


def test_trl_7039_every_end_token_of_the_model_stops(policy: Policy, prompts: list[Prompt]) -> None:
    # trl 7039: with several end tokens, those the tokenizer does not name never stopped.
    policy.model.generation_config.eos_token_id = [1, 7]
    drawn = [s for group in sample(policy, prompts) for s in group.samples]
    assert {s.ids[-1] for s in drawn if s.finish_reason == "stop"} == {1, 7}


def test_trl_4970_a_padding_token_that_is_sampled_is_kept(
    policy: Policy, prompts: list[Prompt]
) -> None:
    # trl 4970: masks made from token values lose tokens that look like padding.
    policy.model.generation_config.eos_token_id = None
    policy.tokenizer.eos_token = None
    drawn = [s for group in sample(policy, prompts, num_samples=8) for s in group.samples]
    assert all(len(s.ids) == 12 for s in drawn)
    assert any(0 in s.ids for s in drawn)


def test_text_is_decoded_without_special_tokens(samples: list[Sample]) -> None:
    assert all("<eos>" not in s.text for s in samples)


def test_sampling_leaves_the_policy_as_it_was(policy: Policy, prompts: list[Prompt]) -> None:
    before = copy.deepcopy(policy.model.state_dict())
    sample(policy, prompts)
    assert all(torch.equal(before[k], v) for k, v in policy.model.state_dict().items())
    assert all(p.grad is None for p in policy.model.parameters())


def test_completions_are_handed_out_as_they_finish(policy: Policy, prompts: list[Prompt]) -> None:
    engine = HFEngine(policy, policy.config)
    lengths = [len(f.sample.ids) for f in engine.generate(prompts, Sampling(4, 12, "0/1"))]
    assert lengths == sorted(lengths)
    assert lengths[0] < 12


def test_the_caller_does_not_find_itself_in_the_modes_of_sampling(
    policy: Policy, prompts: list[Prompt]
) -> None:
    policy.compute_dtype = torch.bfloat16
    finished = HFEngine(policy, policy.config).generate(prompts, Sampling(1, 12, "0/1"))
    next(finished)
    assert not torch.is_inference_mode_enabled()
    assert not torch.is_autocast_enabled("cpu")


def test_sampling_may_be_given_up_and_begun_again(
    policy: Policy, prompts: list[Prompt], groups: list[Group]
) -> None:
    engine = HFEngine(policy, policy.config)
    finished = engine.generate(prompts, Sampling(4, 12, "0/1"))
    list(itertools.islice(finished, 3))
    finished.close()  # type: ignore[attr-defined]
    assert collect(prompts, engine.generate(prompts, Sampling(4, 12, "0/1"))) == groups


def test_top_p_draws_from_the_most_likely_tokens_of_that_total(policy: Policy) -> None:
    prompt = Prompt("p", (5, 6), "c d")
    drawn = sample(policy, [prompt], num_samples=500, max_new_tokens=1, top_p=0.6)[0].samples
    with torch.no_grad():
        p_V = policy.model(torch.tensor([prompt.ids])).logits[0, -1].softmax(-1)
    order = p_V.argsort(descending=True).tolist()
    size = next(n for n in range(1, len(order)) if p_V[order[:n]].sum() >= 0.6)
    assert {s.ids[0] for s in drawn} == set(order[:size])
    total = float(p_V[order[:size]].sum())
    for s in drawn:
        expected = float((p_V[s.ids[0]] / total).log())
        assert s.logprobs[0] == pytest.approx(expected, abs=1e-5)


def test_trl_6789_training_has_no_top_p_that_would_bias_the_ratio() -> None:
    # trl 6789: log-probabilities of the kept tokens alone are no match for the trainer's.
    assert [name for name in vars(Config()) if "top_" in name or "min_p" in name] == ["eval_top_p"]


@pytest.mark.parametrize("lora_rank", [0, 4])
def test_packed_weights_sample_what_the_others_do_before_and_after_an_update(
    base_config: Config, prompts: list[Prompt], monkeypatch: pytest.MonkeyPatch, lora_rank: int
) -> None:
    monkeypatch.setattr(packing, "MIN_SIZE", 0)
    torch.manual_seed(1)
    policy = load_policy(replace(base_config, lora_rank=lora_rank), World())
    engine, seen = HFEngine(policy, policy.config), []
    for _ in range(2):
        plain = sample(policy, prompts)
        engine.sync()
        assert engine._packed, "no linear layer was packed"
        packed = collect(prompts, engine.generate(prompts, Sampling(4, 12, "0/1")))
        engine.release()
        assert ids(packed) == ids(plain)
        for one, other in zip(packed, plain, strict=True):
            for mine, theirs in zip(one.samples, other.samples, strict=True):
                assert mine.logprobs == pytest.approx(theirs.logprobs, abs=1e-4)
        seen.append(ids(packed))
        with torch.no_grad():
            for parameter in policy.model.parameters():
                if parameter.requires_grad:
                    parameter.add_(0.2 * torch.randn_like(parameter))
    assert seen[0] != seen[1]
    assert not any("forward" in vars(module) for module in policy.model.modules())


def test_without_a_gpu_transformers_samples(policy: Policy) -> None:
    assert isinstance(open_engine(policy, policy.config, 64), HFEngine)


def _shares(world: World, configs: list[Config], prompts: list[Prompt]) -> list[list[Group]]:
    """For each config, sample this rank's share before and after an update of sharded weights."""
    shares = []
    for config in configs:
        policy = load_policy(config, world)
        engine = open_engine(policy, config, 64)
        mine = prompts[engine.replica :: engine.num_replicas]
        for _ in range(2):
            engine.sync()
            shares.append(collect(mine, engine.generate(mine, Sampling(2, 8, "0/1"))))
            for parameter in policy.model.parameters():
                if parameter.requires_grad:
                    parameter.grad = torch.ones_like(parameter)
            policy.optimizer.step()
    return shares


def test_two_ranks_sample_what_one_does_before_and_after_updates(
    base_config: Config, experts_folder: Path, prompts: list[Prompt]
) -> None:
    base = replace(base_config, learning_rate=0.05, beta=0.0)
    experts = replace(base, model=str(experts_folder))  # whose names differ from their file's
    configs = [base, replace(base, lora_rank=4), experts]
    alone = _shares(World(), configs, prompts[:6])
    first, second = run_ranks(_shares, configs, prompts[:6])
    mixed = [
        [group for pair in zip(*share, strict=True) for group in pair]
        for share in zip(first, second, strict=True)
    ]
    assert [ids(groups) for groups in mixed] == [ids(groups) for groups in alone]
    assert ids(alone[0]) != ids(alone[1])
    assert ids(alone[2]) != ids(alone[3])
    assert ids(alone[4]) != ids(alone[5])
