"""Specs: what would make a completion right.

A spec reaches us as a model, a dict, JSON or TOML text, and as a list of those for a weighted sum.
`compile_spec` turns any of these into a `CompiledSpec` once; everything behind it works on that.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError

from rewards.errors import SpecError, did_you_mean
from rewards.registry import Verifier, generation, get_verifier

Role = Literal["outcome", "shaping"]


class Spec(BaseModel):
    """Base of every verifier's spec: frozen, and unknown keys are refused.

    Subclasses add their fields, and may override `check` for what is too slow or too deep for a
    field validator (it runs once per distinct spec, before anything is scored).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    type: str
    """The verifier that judges."""
    name: str | None = None
    """Name of this part in a composition and in the metrics; the type when absent."""
    weight: float = 1.0
    """Factor of this part's value in a weighted sum."""
    role: Role | None = None
    """outcome (correctness) or shaping (style); the verifier's own role when absent."""
    gate: bool = False
    """Whether a value of 0 here makes the whole composition 0."""

    @property
    def part_name(self) -> str:
        """What this part is called in a composition and in the metrics."""
        return self.name or self.type

    @property
    def value_range(self) -> tuple[float, float]:
        """The least and the greatest value that this spec can give, before its weight."""
        return 0.0, 1.0

    def check(self) -> None:
        """Refuse what cannot be judged, e.g. a gold answer that does not parse.

        Raises:
            SpecError: With what is wrong and what to do.
        """


@dataclass(frozen=True)
class Part:
    """One checked spec with the verifier that judges it."""

    name: str
    spec: Spec
    verifier: Verifier
    key: str
    """Digest of the canonical JSON: equal specs have equal keys."""

    @property
    def role(self) -> Role:
        """The spec's role, else the verifier's."""
        return self.spec.role or self.verifier.role


@dataclass(frozen=True)
class CompiledSpec:
    """One part, or several that are summed."""

    parts: tuple[Part, ...]
    composed: bool
    """Whether it was given as a list; a list of one is still a composition."""

    @property
    def has_outcome(self) -> bool:
        """Whether any part speaks of correctness."""
        return any(part.role == "outcome" for part in self.parts)


def compile_spec(raw: Any) -> CompiledSpec:
    """Validate and check a spec in any accepted form.

    Raises:
        SpecError: If it is malformed or its gold answer cannot be used.
        VerifierNotFoundError: If no verifier answers to its type.
        PluginError: If the verifier's module cannot be imported.
    """
    raw = _decode(raw) if isinstance(raw, str) else raw
    if isinstance(raw, Mapping | Spec):
        return CompiledSpec((_compile_part(raw),), composed=False)
    if isinstance(raw, Sequence) and raw:
        parts = [_compile_part(_decode(r) if isinstance(r, str) else r) for r in raw]
        return CompiledSpec(_name_apart(parts), composed=True)
    raise SpecError(f"a spec is a mapping or a non-empty list of them, not {raw!r:.80}")


def canonical_json(raw: Any) -> str:
    """Return the text under which equal specs are equal.

    Raises:
        SpecError: If it holds anything but plain data.
    """
    if isinstance(raw, str):
        return raw
    try:
        return json.dumps(raw, sort_keys=True, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, SpecError):
            raise
        raise SpecError(f"a spec holds plain data ({error}): {raw!r:.120}") from None


def load_spec_text(text: str) -> Any:
    """Parse JSON or TOML text into plain data.

    Raises:
        SpecError: If it is neither.
    """
    return _decode(text)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise SpecError(f"a spec holds plain data, not {type(value).__name__}: {value!r:.80}")


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as json_error:
        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as toml_error:
            raise SpecError(
                f"spec text is neither JSON ({json_error}) nor TOML ({toml_error}): {text!r:.80}"
            ) from None


def _compile_part(raw: Mapping[str, Any] | Spec) -> Part:
    if not isinstance(raw, Mapping | Spec):
        raise SpecError(f"a spec is a mapping, not {type(raw).__name__}: {raw!r:.80}")
    name = raw.type if isinstance(raw, Spec) else raw.get("type")
    if not isinstance(name, str):
        raise SpecError(f"a spec needs a 'type' that names its verifier: {raw!r:.120}")
    verifier = get_verifier(name)
    spec = raw if isinstance(raw, Spec) else _validate(verifier, raw)
    if not isinstance(spec, verifier.spec):
        raise SpecError(
            f"verifier {name!r} takes {verifier.spec.__name__}, not {type(spec).__name__}"
        )
    try:
        text = spec.model_dump_json()
    except PydanticSerializationError as error:  # e.g. half a surrogate pair
        raise SpecError(f"{name} spec cannot be written as JSON: {error}") from None
    spec.check()
    key = hashlib.sha256(f"{name}\n{generation()}\n{text}".encode()).hexdigest()
    return Part(spec.part_name, spec, verifier, key)


def _validate(verifier: Verifier, raw: Mapping[str, Any]) -> Spec:
    # Columnar formats null-fill the keys that other rows have, so None is the same as absent.
    items = {key: value for key, value in raw.items() if value is not None}
    try:
        return verifier.spec.model_validate(items)
    except ValidationError as error:
        raise SpecError(_explain(verifier, error)) from None


def _explain(verifier: Verifier, error: ValidationError) -> str:
    fields = list(verifier.spec.model_fields)
    complaints = []
    for item in error.errors():
        where = ".".join(str(step) for step in item["loc"]) or "spec"
        if item["type"] == "extra_forbidden":
            hint = did_you_mean(str(item["loc"][-1]), fields) or f" Known: {', '.join(fields)}."
            complaints.append(f"unknown key {where!r}.{hint}")
        elif item["type"] == "missing":
            complaints.append(f"{where!r} is missing")
        else:
            message = item["msg"].removeprefix("Value error, ")
            got = f" (got {item['input']!r:.60})" if item["loc"] else ""
            complaints.append(f"{where}: {message}{got}")
    return f"{verifier.name} spec: " + "; ".join(complaints)


def _name_apart(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Number parts of equal names, so that none hides another; explicit twins are refused."""
    explicit = [p.spec.name for p in parts if p.spec.name]
    if twins := {n for n in explicit if explicit.count(n) > 1}:
        raise SpecError(f"two parts have the same name: {', '.join(sorted(twins))}")
    taken = set(explicit)
    named: list[Part] = []
    for part in parts:
        name, number = part.name, 1
        while not part.spec.name and name in taken:
            number += 1
            name = f"{part.name}_{number}"
        taken.add(name)
        named.append(Part(name, part.spec, part.verifier, part.key))
    return tuple(named)
