from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

PROGRAM = """
import os
from pathlib import Path
from trainer.allocator import keep_freed_memory

def held_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

if {keeps}:
    keep_freed_memory()
before = held_mb()
block = b"x" * 200_000_000
del block
print(held_mb() - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="malloc is not glibc's")
@pytest.mark.parametrize("keeps", [True, False])
def test_freed_memory_stays_with_the_process_if_it_is_told_to_keep_it(keeps: bool) -> None:
    command = [sys.executable, "-c", PROGRAM.format(keeps=keeps)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert (float(done.stdout) > 150) is keeps
