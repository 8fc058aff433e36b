"""Verifiers that misbehave, loaded by path in the tests."""

from __future__ import annotations

import os
import time
from typing import Literal

import rewards


class HostileSpec(rewards.Spec):
    """Takes nothing."""

    type: Literal["dies", "raises", "hangs", "spins", "lies", "picky"]


@rewards.verifier(name="dies", spec=HostileSpec, runs="worker")
def dies(completion: rewards.Completion, spec: HostileSpec) -> rewards.Score:
    os._exit(7)


@rewards.verifier(name="raises", spec=HostileSpec)
def raises(completion: rewards.Completion, spec: HostileSpec) -> rewards.Score:
    raise ZeroDivisionError("by design")


@rewards.verifier(name="hangs", spec=HostileSpec, runs="worker", timeout_s=0.2)
def hangs(completion: rewards.Completion, spec: HostileSpec) -> rewards.Score:
    time.sleep(600)
    return rewards.Score.correct()


@rewards.verifier(name="spins", spec=HostileSpec, runs="worker", timeout_s=0.5)
def spins(completion: rewards.Completion, spec: HostileSpec) -> rewards.Score:
    while True:
        pass


@rewards.verifier(name="lies", spec=HostileSpec)
def lies(completion: rewards.Completion, spec: HostileSpec) -> float:
    return 1.0


@rewards.verifier(name="picky", spec=HostileSpec, runs="worker", timeout_s=0.5)
def picky(completion: rewards.Completion, spec: HostileSpec) -> rewards.Score:
    """Do to itself what the completion says."""
    if completion.text == "die":
        os._exit(7)
    if completion.text == "raise":
        raise ValueError("asked to")
    if completion.text == "hang":
        time.sleep(600)
    return rewards.Score.correct(pid=os.getpid(), text=completion.text)
