"""A compact GRPO trainer that learns from `rewards`.

The algorithm is in three files: `loop` (what happens in a step), `advantages` and `loss` (the
equations). `config` names every setting and `cli` is the command `grpo-run`. Importing this
package loads no torch; `trainer.loop.train(config, task)` runs a training from Python.
"""

__distribution__ = "assay-rl"
