from __future__ import annotations

import gc
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from trainer.batch import Example, MicroBatch, collate
from trainer.logprobs import TokenLogprobs, sequence_bounds
from trainer.model import load_model
from trainer.rollout import Prompt, Sample

CPU = torch.device("cpu")


def example(prompt: list[int], completion: list[int]) -> Example:
    n = len(completion)
    sample = Sample(tuple(completion), (0.0,) * n, "stop", "")
    return Example(Prompt("p", tuple(prompt), ""), sample, (1.0,) * n)


LONG, SHORT, LAST = (
    example([3, 4, 5], [6, 7, 8, 1]),
    example([9], [5, 0]),
    example([4, 4], [10, 11, 12]),
)
ROWS = [[LONG], [SHORT], [LAST]]


def score(scorer: TokenLogprobs, batch: MicroBatch, **options: Any) -> Tensor:
    logprobs_N, _ = scorer(
        batch.ids_BT,
        batch.position_BT,
        batch.source_N,
        batch.targets_N,
        packed=batch.packed,
        **options,
    )
    return logprobs_N


def score_alone(scorer: TokenLogprobs, one: Example, temperature: float = 1.0) -> Tensor:
    """The log-probabilities by the plainest means: all logits, one sequence, no position ids."""
    ids = torch.tensor([[*one.prompt.ids, *one.sample.ids]])
    logprobs_TV = (scorer.model(ids).logits[0] / temperature).log_softmax(-1)
    first = len(one.prompt.ids)
    return torch.stack([logprobs_TV[t - 1, ids[0, t]] for t in range(first, ids.shape[1])])


@pytest.fixture(params=["sdpa", "eager"])
def scorer(request: pytest.FixtureRequest, model_folder: Path) -> TokenLogprobs:
    return TokenLogprobs(load_model(str(model_folder), CPU, attention=request.param)).double()


@pytest.fixture
def sdpa(model_folder: Path) -> TokenLogprobs:
    return TokenLogprobs(load_model(str(model_folder), CPU, attention="sdpa")).double()


def test_log_probabilities_are_those_of_the_scaled_logits(scorer: TokenLogprobs) -> None:
    expected = torch.cat([score_alone(scorer, one, 0.7) for (one,) in ROWS])
    found = score(scorer, collate(ROWS, CPU), temperature=0.7)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("rows", [[[LONG, SHORT, LAST]], [[LONG], [SHORT, LAST]]])
def test_packed_sequences_do_not_see_each_other(
    scorer: TokenLogprobs, rows: list[list[Example]]
) -> None:
    # With a cache, or a mask of ones, transformers lets them, and nothing says so.
    # Eager softmax is in float32.
    expected = score(scorer, collate(ROWS, CPU))
    torch.testing.assert_close(score(scorer, collate(rows, CPU)), expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("chunk", [1, 2, 4, 9])
def test_chunks_change_neither_values_nor_gradients(sdpa: TokenLogprobs, chunk: int) -> None:
    results = []
    for size in (1024, chunk):
        sdpa.chunk = size
        sdpa.zero_grad()
        logprobs_N = score(sdpa, collate(ROWS, CPU))
        logprobs_N.square().sum().backward()
        results.append([logprobs_N.detach(), *(p.grad for p in sdpa.parameters())])
    for whole, parts in zip(*results, strict=True):
        torch.testing.assert_close(whole, parts, rtol=0, atol=1e-9)


class _LargestLogits(TorchDispatchMode):
    """Remembers the most rows that anything as wide as the vocabulary had, but for the head."""

    rows = 0

    def __init__(self, head: torch.nn.Linear) -> None:
        super().__init__()
        self.vocabulary, self.width = head.weight.shape

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and result.shape[-1:] == (self.vocabulary,):
            rows = result.numel() // self.vocabulary
            self.rows = max(self.rows, rows if rows != self.width else 0)
        return result


def test_no_more_logits_exist_than_those_of_a_chunk(sdpa: TokenLogprobs) -> None:
    sdpa.chunk = 2
    with _LargestLogits(sdpa.model.lm_head) as seen:
        score(sdpa, collate(ROWS, CPU)).sum().backward()
    assert seen.rows == 2


def test_only_what_predicts_a_completion_reaches_the_head(
    sdpa: TokenLogprobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    sdpa.model.lm_head.register_forward_pre_hook(lambda _, args: sizes.append(len(args[0])))
    with torch.no_grad():
        score(sdpa, collate(ROWS, CPU))
    assert sizes == [9]


def test_logits_of_half_precision_are_raised_before_they_are_summed(model_folder: Path) -> None:
    scorer = TokenLogprobs(load_model(str(model_folder), CPU, torch.bfloat16))
    batch = collate([[LONG]], CPU)
    hidden = scorer.model.base_model(batch.ids_BT).last_hidden_state[0, batch.source_N]
    exact_NV = scorer.model.lm_head(hidden).double().log_softmax(-1)
    expected = exact_NV.gather(1, batch.targets_N[:, None]).squeeze(1)
    found = score(scorer, batch)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-5)


def test_double_precision_stays(sdpa: TokenLogprobs) -> None:
    assert score(sdpa, collate(ROWS, CPU)).dtype == torch.float64


def test_entropy_is_that_of_the_scaled_distribution(sdpa: TokenLogprobs) -> None:
    batch = collate([[LONG]], CPU)
    _, entropy_N = sdpa(
        batch.ids_BT,
        batch.position_BT,
        batch.source_N,
        batch.targets_N,
        packed=False,
        temperature=0.7,
        with_entropy=True,
    )
    logits_NV = sdpa.model(batch.ids_BT).logits[0, batch.source_N] / 0.7
    expected = torch.distributions.Categorical(logits=logits_NV).entropy()
    torch.testing.assert_close(entropy_N, expected)


def test_entropy_is_not_computed_unasked(sdpa: TokenLogprobs) -> None:
    batch = collate([[LONG]], CPU)
    flat = (batch.ids_BT, batch.position_BT, batch.source_N, batch.targets_N)
    assert sdpa(*flat, packed=False)[1] is None


def test_trl4970_the_padding_id_is_a_token_like_any_other(sdpa: TokenLogprobs) -> None:
    # SHORT ends with 0, and is padded with 0 beside LONG.
    together = score(sdpa, collate([[LONG], [SHORT]], CPU))[-2:]
    torch.testing.assert_close(together, score_alone(sdpa, SHORT), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("rows", "masked"), [(ROWS, False), ([[LONG, SHORT]], True)])
def test_a_mask_is_built_for_packed_rows_alone(
    sdpa: TokenLogprobs,
    monkeypatch: pytest.MonkeyPatch,
    rows: list[list[Example]],
    masked: bool,
) -> None:
    exact, seen = F.scaled_dot_product_attention, []

    def spy(*args: Any, attn_mask: Tensor | None = None, is_causal: bool, **kwargs: Any) -> Tensor:
        seen.append((attn_mask is not None, is_causal))
        return exact(*args, attn_mask=attn_mask, is_causal=is_causal, **kwargs)

    monkeypatch.setattr(F, "scaled_dot_product_attention", spy)
    score(sdpa, collate(rows, CPU))
    assert set(seen) == {(masked, not masked)}


def test_flash_attention_learns_where_each_sequence_of_each_row_begins() -> None:
    batch = collate([[LONG, SHORT], [LAST]], CPU)  # 7 + 3 tokens, and 5 with padding
    bounds = sequence_bounds(batch.position_BT)
    assert bounds["cu_seq_lens_q"].tolist() == bounds["cu_seq_lens_k"].tolist() == [0, 7, 10, 20]
    assert bounds["max_length_q"] == bounds["max_length_k"] == 10


def _varlen_attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float,
    cu_seq_lens_q: Tensor | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """What flash attention computes of sequences of different lengths, laid end to end."""
    assert attention_mask is None
    B, _, T, _ = query.shape
    q, k, v = (x.transpose(0, 1).flatten(1, 2) for x in (query, key, value))  # heads, B x T, width
    bounds = range(0, B * T + 1, T) if cu_seq_lens_q is None else cu_seq_lens_q.tolist()
    parts = [
        F.scaled_dot_product_attention(
            q[None, :, a:b], k[None, :, a:b], v[None, :, a:b],
            is_causal=True, scale=scaling, enable_gqa=True,
        )
        for a, b in pairwise(bounds)
    ]  # fmt: skip
    return torch.cat(parts, dim=2)[0].transpose(0, 1).reshape(B, T, -1, q.shape[-1]), None


@pytest.mark.parametrize("rows", [ROWS, [[LONG, SHORT], [LAST]], [[LONG, SHORT, LAST]]])
def test_the_bounds_of_sequences_reach_attention(
    sdpa: TokenLogprobs, rows: list[list[Example]]
) -> None:
    expected = score(sdpa, collate(ROWS, CPU))
    transformers.AttentionInterface.register("flash_on_a_cpu", _varlen_attention)
    sdpa.model.config._attn_implementation = "flash_on_a_cpu"
    assert sdpa.uses_flash_attention
    torch.testing.assert_close(score(sdpa, collate(rows, CPU)), expected, rtol=0, atol=1e-9)


def test_verl6699_nothing_of_a_micro_batch_stays_after_its_backward_pass(
    sdpa: TokenLogprobs,
) -> None:
    def graphs() -> int:
        gc.collect()
        return sum(issubclass(type(o), Tensor) and o.grad_fn is not None for o in gc.get_objects())

    before = graphs()
    kept = []
    for _ in range(2):
        logprobs_N = score(sdpa, collate(ROWS, CPU))
        logprobs_N.sum().backward()
        kept.append(logprobs_N.detach())
    del logprobs_N
    assert graphs() == before
