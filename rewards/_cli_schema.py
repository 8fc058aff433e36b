"""JSON Schemas of specs, for editors and for validation in other languages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic.json_schema import models_json_schema

from rewards.registry import get_verifier

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(name: str) -> dict[str, Any]:
    """Return the schema of one verifier's spec.

    Raises:
        VerifierNotFoundError: If no verifier answers to `name`.
    """
    schema = get_verifier(name).spec.model_json_schema()
    _pin_type(schema, name)
    return {"$schema": DIALECT, **schema}


def schema_of_all(names: Sequence[str]) -> dict[str, Any]:
    """Return the schema of whatever `score` takes: one spec, told apart by type, or a list."""
    models = {name: get_verifier(name).spec for name in names}
    refs, schema = models_json_schema(
        [(model, "validation") for model in models.values()], ref_template="#/$defs/{model}"
    )
    definitions = schema["$defs"]
    mapping = {name: refs[model, "validation"]["$ref"] for name, model in models.items()}
    for name, ref in mapping.items():
        _pin_type(definitions[ref.rpartition("/")[2]], name)
    definitions["OneSpec"] = {
        "oneOf": [{"$ref": ref} for ref in mapping.values()],
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }
    one = {"$ref": "#/$defs/OneSpec"}
    return {
        "$schema": DIALECT,
        "title": "Spec",
        "description": "One spec, or a list of them for their weighted sum.",
        "anyOf": [one, {"type": "array", "items": one, "minItems": 1}],
        "$defs": definitions,
    }


def _pin_type(schema: dict[str, Any], name: str) -> None:
    """Require `type`: it may be left out of a model, whose class says it, but never of data."""
    schema["properties"]["type"] = {"const": name, "type": "string", "title": "Type"}
    schema["required"] = sorted({"type", *schema.get("required", ())})
