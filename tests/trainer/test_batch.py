from __future__ import annotations

import pytest
import torch

from trainer.batch import Example, collate, micro_batches
from trainer.logprobs import completion_logprobs
from trainer.policy import Policy
from trainer.rollout import Prompt, Sample

CPU = torch.device("cpu")


def example(prompt: list[int], completion: list[int], advantage: float = 1.0) -> Example:
    return Example(
        Prompt("p", tuple(prompt), ""),
        Sample(tuple(completion), tuple(-0.5 for _ in completion), "stop", ""),
        advantage,
    )


PAIR = [example([3, 4], [5, 6]), example([7], [8])]


def test_tensors_are_laid_out_as_documented() -> None:
    batch = collate(PAIR, CPU)
    assert batch.ids_BT.tolist() == [[3, 4, 5, 6], [7, 8, 0, 0]]
    assert batch.source_BT.int().tolist() == [[0, 1, 1, 0], [1, 0, 0, 0]]
    assert batch.targets_BC.tolist() == [[5, 6], [8, 0]]
    assert batch.mask_BC.int().tolist() == [[1, 1], [1, 0]]


def test_an_end_token_equal_to_the_padding_counts() -> None:
    # trl 4970, 6357: with pad == eos, a mask made from values drops the real end token.
    batch = collate([example([3], [5, 0]), example([3], [0])], CPU)
    assert batch.mask_BC.int().tolist() == [[1, 1], [1, 0]]


def test_micro_batches_hold_every_example_once() -> None:
    examples = [example([3] * (1 + i % 3), [4] * (1 + i % 5), float(i)) for i in range(11)]
    batches = micro_batches(examples, 4, CPU)
    assert [len(b.advantages_B) for b in batches] == [4, 4, 3]
    assert sorted(a for b in batches for a in b.advantages_B.tolist()) == list(range(11))


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_chunks_do_not_change_log_probabilities(policy: Policy, chunk: int) -> None:
    batch = collate(PAIR, CPU)
    expected = completion_logprobs(policy.model, batch, temperature=0.8)
    chunked = completion_logprobs(policy.model, batch, temperature=0.8, chunk=chunk)
    assert torch.allclose(chunked, expected, atol=1e-6)


def test_chunks_do_not_change_the_gradient(policy: Policy) -> None:
    batch = collate(PAIR, CPU)
    gradients = []
    for chunk in (1, 100):
        policy.model.zero_grad()
        completion_logprobs(policy.model, batch, temperature=1.0, chunk=chunk).sum().backward()
        gradients.append(policy.model.get_output_embeddings().weight.grad)
    assert torch.allclose(gradients[0], gradients[1], atol=1e-6)


def test_padding_does_not_change_log_probabilities(policy: Policy) -> None:
    together = completion_logprobs(policy.model, collate(PAIR, CPU), temperature=1.0)
    alone = completion_logprobs(policy.model, collate(PAIR[1:], CPU), temperature=1.0)
    assert together[1, 0].item() == pytest.approx(alone[0, 0].item(), abs=1e-6)


def test_log_probabilities_equal_a_plain_forward_pass(policy: Policy) -> None:
    with torch.no_grad():
        logprobs_BC = completion_logprobs(policy.model, collate(PAIR, CPU), temperature=0.5)
        logits_TV = policy.model(torch.tensor([[3, 4, 5, 6]])).logits[0] / 0.5
    expected = logits_TV.log_softmax(-1)[[1, 2], [5, 6]]
    assert torch.allclose(logprobs_BC[0], expected, atol=1e-6)
    assert logprobs_BC[1, 1] == 0  # padding


def test_weights_in_bfloat16_still_give_float32_log_probabilities(policy: Policy) -> None:
    with torch.no_grad():
        logprobs_BC = completion_logprobs(
            policy.model.bfloat16(), collate(PAIR, CPU), temperature=1.0
        )
    assert logprobs_BC.dtype == torch.float32
