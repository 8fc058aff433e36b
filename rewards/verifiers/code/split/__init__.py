"""Tests in one process, the model's code in another; docs/code.md says what crosses.

    run_asserts, run_pytest    hold the tests: two programs for the trusted container
    tests_side                 what both have in common; `import solution` gives a stand-in
    session, claims            ask, and make of the answers what the tests may hold
    standins, making           stand for the program's objects and classes
    patches                    what the tests patch in their own process
        |  wire: frames over descriptor 4; exchange: what both sides encode and decode
    program, handles           answer, beside the model's code; actions, state, streams

`naming` reads off the tests, on the host, what they use as classes. `drivers.py` bundles the others
for the sandbox, where nothing else of this package exists: they use the standard library only.
"""
