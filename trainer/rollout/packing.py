"""Linear layers in oneDNN's layout, for decoding on a CPU.

A decoding step multiplies a few rows with every weight. With the weights laid out for that once
after each update, SmolLM2-135M decodes 8 rows in two thirds of the time that torch's own linear
layers take. It costs a second copy of the weights while sampling.

torch compiles to these operators (`torch._inductor`, its mkldnn fusion) and has no public name for
them; where they are missing, nothing is packed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

ROWS = 8
"""Rows of input that the layout is chosen for; others are right as well."""
MIN_SIZE = 2**16
"""Smallest matrix that is packed: the tiny model, whose are smaller, decodes slower if packed."""

Packed = dict[nn.Linear, Callable[[Tensor], Tensor]]
"""What each layer computes with its packed weights."""


def can_pack(device: torch.device, dtype: torch.dtype) -> bool:
    """Say whether packing helps here."""
    operators = ("_reorder_linear_weight", "_linear_pointwise")
    return (
        device.type == "cpu"
        and dtype == torch.float32
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and all(hasattr(torch.ops.mkldnn, name) for name in operators)
    )


def pack(model: nn.Module) -> Packed:
    """Lay out copies of the weights of a model's linear layers."""
    return {
        layer: _packed_forward(layer)
        for layer in model.modules()
        # Subclasses may compute something else.
        if type(layer) is nn.Linear and layer.weight.numel() >= MIN_SIZE
    }


def _packed_forward(layer: nn.Linear) -> Callable[[Tensor], Tensor]:
    weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), ROWS)

    def forward(x: Tensor) -> Tensor:
        y: Any = torch.ops.mkldnn._linear_pointwise(x, weight, layer.bias, "none", [], "")
        return y  # type: ignore[no-any-return]

    return forward


@contextmanager
def in_use(packed: Packed) -> Iterator[None]:
    """Let layers compute with their packed weights meanwhile, without gradients."""
    for layer, forward in packed.items():
        layer.forward = forward  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        for layer in packed:
            del layer.forward
