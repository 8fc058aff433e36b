from __future__ import annotations

import json
from typing import Any

import pytest

import rewards
from rewards import Spec, SpecError, VerifierNotFoundError
from rewards.verifiers.math import MathSpec

FORMS: list[Any] = [
    {"type": "math", "answer": "4"},
    MathSpec(answer="4"),
    '{"type": "math", "answer": "4"}',
    'type = "math"\nanswer = "4"',
    {"type": "math", "answer": 4},
    {"type": "math", "answer": "4", "weight": None, "tests": None},
]


@pytest.mark.parametrize(
    "form", FORMS, ids=["dict", "model", "json", "toml", "number", "null-filled"]
)
def test_every_form_of_a_spec_is_the_same_spec(form: Any) -> None:
    assert rewards.score("4", form).value == 1.0


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        ({"type": "math", "anwser": "4"}, "unknown key 'anwser'. Did you mean 'answer'"),
        ({"type": "math"}, "'answer' is missing"),
        ({"type": "math", "answer": ""}, "is empty"),
        ({"type": "math", "answer": "4", "weight": "heavy"}, "weight: .*heavy"),
        ({"answer": "4"}, "needs a 'type'"),
        ({"type": "math", "answer": 4, "name": "\ud800"}, "cannot be written as JSON"),
        ([], "non-empty list"),
        (7, "mapping"),
        ("{", "neither JSON .* nor TOML"),
        (
            [{"type": "math", "answer": 1, "name": "a"}, {"type": "format", "name": "a"}],
            "same name: a",
        ),
    ],
)
def test_a_bad_spec_says_what_to_mend(raw: Any, complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint):
        rewards.score("4", raw)


def test_an_unknown_type_gets_a_suggestion() -> None:
    with pytest.raises(VerifierNotFoundError, match=r"installed: .*Did you mean 'math'"):
        rewards.score("4", {"type": "maths", "answer": "4"})


def test_bad_rows_are_named_before_anything_runs() -> None:
    good, bad = {"type": "math", "answer": "4"}, {"type": "math", "answer": "{"}
    with pytest.raises(SpecError, match=r"row 1: .*row 2: "):
        rewards.score_batch(["4", "4", "4"], [good, {"type": "math"}, bad])


def test_a_spec_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        MathSpec(answer="4").answer = "5"


def test_parts_without_names_are_numbered() -> None:
    parts = [{"type": "length", "budget": n, "unit": "words"} for n in (1, 2)]
    assert list(rewards.score("a", parts).parts) == ["length", "length_2"]


def test_a_specs_model_survives_json() -> None:
    spec = MathSpec(answer="4", weight=2.0, name="sum")
    assert MathSpec.model_validate_json(spec.model_dump_json()) == spec


def test_the_base_spec_checks_nothing() -> None:
    Spec(type="anything").check()


def test_a_verifiers_spec_class_is_required() -> None:
    with pytest.raises(SpecError, match="takes MathSpec"):
        rewards.score("4", Spec(type="math"))


def test_a_spec_inside_a_list_may_be_text() -> None:
    assert rewards.score("4", [json.dumps({"type": "math", "answer": "4"})]).value == 1.0
