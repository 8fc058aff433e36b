"""Tasks: rows of data, each a question with the spec of its answer.

Example:
    >>> task = load_task("code")
    >>> task.train[0].prompt
"""

from trainer.tasks.load import Task, available_tasks, load_task
from trainer.tasks.public import read_gsm8k, read_humaneval, read_math, read_mbpp
from trainer.tasks.public_code import read_apps, read_codecontests, read_livecodebench, read_verl
from trainer.tasks.public_lean import read_minif2f, read_numina_lean
from trainer.tasks.rows import Prompt, Row, read_rows, write_rows

__all__ = [
    "Prompt",
    "Row",
    "Task",
    "available_tasks",
    "load_task",
    "read_apps",
    "read_codecontests",
    "read_gsm8k",
    "read_humaneval",
    "read_livecodebench",
    "read_math",
    "read_mbpp",
    "read_minif2f",
    "read_numina_lean",
    "read_rows",
    "read_verl",
    "write_rows",
]
