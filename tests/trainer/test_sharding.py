"""One rank against two: the same function runs alone in this process, and on two gloo ranks."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load
from torch import Tensor
from torch.distributed.tensor import DTensor

from tests.trainer.ranks import run_ranks
from trainer.batch import Example, collate, plan_micro_batches
from trainer.config import Config
from trainer.distributed import World, full_tensor
from trainer.lora import save_adapter
from trainer.policy import Policy, apply_gradient, load_policy
from trainer.rollout import Prompt, Sample

# All in float64 but for the last two.
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "tied": {},
    "packed": {"pack_tokens": 40, "micro_batch_tokens": 80},
    "small micro-batches": {"micro_batch_tokens": 1},  # 9 on two ranks: one of them is a dummy
    "recomputed": {"gradient_checkpointing": True},
    "offloaded": {"offload_optimizer": True, "offload_reference": True},
    "lora": {"lora_rank": 2},
    "float32": {"dtype": "auto"},
    "bfloat16": {"dtype": "bfloat16"},
}


@dataclass(frozen=True)
class Seen:
    """What a rank has seen of two updates, all of it whole."""

    logprobs: list[float]
    """Of all examples, before."""
    gradients: dict[str, Tensor]
    """Of the first update."""
    norms: list[float]
    weights: dict[str, Tensor]
    """After."""
    logprobs_after: list[float]
    reference: list[float]
    """Log-probabilities under the reference, after."""
    adapter: bytes
    """The adapter's file, after."""
    sharded: bool
    """Whether everything that learns, and its moments, was in shards."""


def examples() -> list[Example]:
    rng = random.Random(0)

    def example(i: int) -> Example:
        ids = tuple(rng.randrange(3, 19) for _ in range(rng.randrange(4, 17)))
        sample = Sample(ids, (0.0,) * len(ids), "stop", "")
        return Example(Prompt(f"p{i}", (3, 4), ""), sample, (rng.uniform(-1, 1),) * len(ids))

    return [example(i) for i in range(9)]


def passes(policy: Policy, *, learn: bool) -> list[float]:
    """Run this rank's micro-batches; return log-probabilities in the order of the examples."""
    world, everything = policy.world, examples()
    plan = plan_micro_batches(
        everything,
        tokens=policy.config.micro_batch_tokens,
        pack_tokens=policy.pack_tokens,
        ranks=world.size,
    )
    tokens = sum(len(e.sample.ids) for e in everything)
    found: dict[str, list[float]] = {}
    for rows in plan[world.rank]:
        batch = collate(rows or [everything[:1]], world.device)
        with policy.autocast():
            logprobs_N, _ = policy.scorer(
                batch.ids_BT,
                batch.position_BT,
                batch.source_N,
                batch.targets_N,
                packed=batch.packed,
            )
        if learn:
            weight = world.size / tokens if rows else 0.0
            (-weight * (logprobs_N * batch.advantages_N).sum()).backward()
        for s, example in enumerate(e for row in rows for e in row):
            found[example.prompt.id] = logprobs_N[batch.sequence_N == s].tolist()
    for theirs in world.gather(found):
        found |= theirs
    return [x for example in everything for x in found[example.prompt.id]]


def observe(world: World, config: Config) -> Seen:
    policy = load_policy(config, world)
    if config.dtype == "float32":
        for scorer in filter(None, (policy.scorer, policy.frozen)):
            scorer.double()
        policy.compute_dtype = torch.float64
    with torch.no_grad():  # whoever computes before an update must not leave old weights behind
        before = passes(policy, learn=False)
    norms, gradients = [], {}
    for _ in range(2):
        passes(policy, learn=True)
        gradients = gradients or {
            name: full_tensor(p.grad).clone()
            for name, p in policy.scorer.named_parameters()
            if p.requires_grad
        }
        norms.append(apply_gradient(policy, learning_rate=0.01, max_grad_norm=0.1))
    weights = {name: tensor.clone() for name, tensor in policy.full_weights()}
    with torch.no_grad():
        after = passes(policy, learn=False)
        with policy.reference() as scorer:
            reference = passes(replace(policy, scorer=scorer), learn=False)
    adapter = adapter_file(policy) if config.lora_rank else b""
    return Seen(before, gradients, norms, weights, after, reference, adapter, is_sharded(policy))


def adapter_file(policy: Policy) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        save_adapter(policy.model, Path(folder))
        return (Path(folder) / "adapter_model.safetensors").read_bytes()


def is_sharded(policy: Policy) -> bool:
    learning = [p for p in policy.scorer.parameters() if p.requires_grad]
    moments = [policy.optimizer.state[p]["exp_avg"] for p in learning]
    return all(isinstance(tensor, DTensor) for tensor in [*learning, *moments])


def observe_all(world: World, configs: dict[str, Config]) -> dict[str, Seen]:
    return {name: observe(world, config) for name, config in configs.items()}


Both = tuple[dict[str, Seen], list[dict[str, Seen]]]


@pytest.fixture(scope="module")
def seen(base_config: Config, tied_folder: Path) -> Both:
    """What one rank sees, and what each of two sees."""
    float64 = replace(base_config, dtype="float32")
    configs = {name: replace(float64, **options) for name, options in CASES.items()}
    configs["tied"] = replace(float64, model=str(tied_folder))
    return observe_all(World(), configs), run_ranks(observe_all, configs)


EXACT = [case for case in CASES if case not in ("float32", "bfloat16")]


def assert_close(found: Any, expected: Any, case: str) -> None:
    tolerance = 1e-5 if case == "float32" else 1e-9
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", [*EXACT, "float32"])
def test_log_probabilities_do_not_depend_on_the_number_of_ranks(seen: Both, case: str) -> None:
    for rank in seen[1]:
        assert_close(rank[case].logprobs, seen[0][case].logprobs, case)


@pytest.mark.parametrize("case", [*EXACT, "float32"])
def test_gradients_do_not_depend_on_the_number_of_ranks(seen: Both, case: str) -> None:
    for rank in seen[1]:
        assert_close(rank[case].gradients, seen[0][case].gradients, case)


def test_two_ranks_compute_in_bfloat16_and_learn_in_float32(seen: Both) -> None:
    alone = seen[0]["bfloat16"]
    for rank in (one["bfloat16"] for one in seen[1]):
        differences = torch.tensor(rank.logprobs) - torch.tensor(alone.logprobs)
        assert 1e-4 < differences.abs().mean() < 0.05  # autocast keeps the residual in float32
        assert {g.dtype for g in rank.gradients.values()} == {torch.float32}
        assert {w.dtype for w in rank.weights.values()} == {torch.bfloat16}


@pytest.mark.parametrize("case", ["packed", "small micro-batches", "recomputed", "offloaded"])
def test_gradients_do_not_depend_on_how_they_are_computed(seen: Both, case: str) -> None:
    assert_close(seen[0][case].gradients, seen[0]["plain"].gradients, case)


@pytest.mark.parametrize("case", EXACT)
def test_the_norm_is_that_of_all_shards(seen: Both, case: str) -> None:
    for rank in seen[1]:
        assert_close(rank[case].norms, seen[0][case].norms, case)


@pytest.mark.parametrize("case", EXACT)
def test_updates_do_not_depend_on_the_number_of_ranks(seen: Both, case: str) -> None:
    for rank in seen[1]:
        assert_close(rank[case].weights, seen[0][case].weights, case)
        assert_close(rank[case].logprobs_after, seen[0][case].logprobs_after, case)


@pytest.mark.parametrize("case", CASES)
def test_the_reference_stays_what_the_policy_was(seen: Both, case: str) -> None:
    for rank in (seen[0], *seen[1]):
        assert rank[case].reference == rank[case].logprobs


@pytest.mark.parametrize("case", CASES)
def test_what_learns_lies_in_shards(seen: Both, case: str) -> None:
    assert (seen[0][case].sharded, [rank[case].sharded for rank in seen[1]]) == (False, [True] * 2)


def test_each_rank_writes_the_whole_adapter(seen: Both) -> None:
    ours = load(seen[0]["lora"].adapter)
    for rank in seen[1]:
        assert_close(load(rank["lora"].adapter), ours, "lora")
