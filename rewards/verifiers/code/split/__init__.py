"""Tests in one process, the model's code in another.

`wire` carries frames between the two, `program` is the model's side, `standins` and `session` are
the side of the tests, `run_asserts` and `run_pytest` the two programs that hold tests, `naming`
reads off the tests which classes they treat as classes. `drivers.py` bundles these modules for the
sandbox, where nothing else of this package exists; they use the standard library only.
"""
