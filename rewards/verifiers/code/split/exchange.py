"""What both sides know about values that are more than plain data.

Mutable arguments are *lent*: a list, dict, set, bytearray, deque or StringIO in a request crosses
with a number, the other side works on its copy, and its reply says what has become of those that it
changed. The owner then changes its own in place, and a result that is one of them comes back as it.

Exceptions cross by class, arguments and text; one that comes home is the very object it was.
"""

from __future__ import annotations

import io
import json
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

from rewards.verifiers.code.values import Decoder, Encoder

BINARY = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
    "divmod",
]
COMPARE = ("__lt__", "__le__", "__gt__", "__ge__")
NUMBERS = [
    "abs",
    "neg",
    "pos",
    "invert",
    "round",
    "int",
    "float",
    "complex",
    "index",
    "trunc",
    "floor",
    "ceil",
]
OPERATORS = (
    {f"__{prefix}{name}__" for name in BINARY for prefix in ("", "r", "i")}
    | {f"__{name}__" for name in NUMBERS}
    | {*COMPARE, "__eq__", "__bool__", "__call__", "__str__", "__repr__", "__format__", "__bytes__"}
    | {"__len__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__iter__"}
    | {"__next__", "__reversed__", "__enter__", "__exit__", "__await__", "__aiter__", "__anext__"}
    | {"__aenter__", "__aexit__", "__fspath__", "__hash__"}
) - {"__idivmod__"}
"""The special methods that a stand-in may have, if the class it stands for has them."""


def defined_operators(kind: type) -> list[str]:
    """Return the special methods that a class has beyond those of any object."""
    return [n for n in OPERATORS if getattr(kind, n, None) not in (None, vars(object).get(n))]


class Box:
    """A kind of mutable container: how to take its content out, and how to put it in."""

    def __init__(
        self, make: Callable[[Any], Any], get: Callable[[Any], Any], put: Callable[[Any, Any], None]
    ) -> None:
        self.make, self.get, self.put = make, get, put


def _put_list(box: Any, items: Any) -> None:
    box[:] = items


def _put_many(box: Any, items: Any) -> None:
    box.clear()
    box.extend(items) if isinstance(box, deque) else box.update(items)


def _put_pairs(box: Any, items: Any) -> None:
    box.clear()
    for key, value in items:
        box[key] = value


def _put_text(box: Any, items: Any) -> None:
    text, position = items
    box.seek(0)
    box.truncate()
    box.write(text)
    box.seek(position)


def _pairs(box: Any) -> list[list[Any]]:
    return [[key, value] for key, value in dict.items(box)]


def _read(box: Any) -> list[Any]:
    return [box.getvalue(), box.tell()]


BOXES: dict[type, Box] = {
    list: Box(lambda _: [], list, _put_list),
    dict: Box(lambda _: {}, _pairs, _put_pairs),
    set: Box(lambda _: set(), list, _put_many),
    deque: Box(lambda maxlen: deque(maxlen=maxlen), list, _put_many),
    Counter: Box(lambda _: Counter(), _pairs, _put_pairs),
    OrderedDict: Box(lambda _: OrderedDict(), _pairs, _put_pairs),
    defaultdict: Box(lambda factory: defaultdict(factory), _pairs, _put_pairs),
    bytearray: Box(lambda _: bytearray(), lambda box: [bytes(box)], lambda b, i: _put_list(b, *i)),
    io.StringIO: Box(lambda _: io.StringIO(newline=""), _read, _put_text),
    io.BytesIO: Box(lambda _: io.BytesIO(), _read, _put_text),
}
_BOX_NAMES = {kind.__name__: kind for kind in BOXES}


class Exchange(Encoder, Decoder):
    """Encodes and decodes for one side; `sign` keeps the numbers of the two sides apart."""

    def __init__(self, sign: int) -> None:
        self._sign = sign
        self._last = 0
        self._lending: list[int] | None = None
        self._boxes: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._errors: dict[int, BaseException] = {}
        self._error_numbers: dict[int, int] = {}

    def lend(self, value: Any) -> tuple[Any, list[int]]:
        """Return the JSON data of a request's values, and the numbers of what is lent in it."""
        outer, self._lending = self._lending, []
        lent = self._lending
        try:
            return self.encode(value), lent
        except BaseException:
            self.forget(lent)
            raise
        finally:
            self._lending = outer

    def take_back(self, lent: list[int], changes: Any) -> None:
        """Change what was lent into what it has become on the other side."""
        for number, items in changes:
            if number in lent:
                box = self._boxes[number]
                BOXES[type(box)].put(box, self.decode(items))

    def forget(self, numbers: Iterable[int]) -> None:
        """Forget what was lent or borrowed: the request is over."""
        for number in numbers:
            self._numbers.pop(id(self._boxes.pop(number)), None)

    def borrow(self, data: Any) -> tuple[Any, dict[int, str]]:
        """Return the values of a request, and what the containers lent in it contain now."""
        before = set(self._boxes)
        value = self.decode(data)
        return value, {n: self._content(n) for n in self._boxes if n not in before}

    def give_back(self, borrowed: dict[int, str]) -> list[list[Any]]:
        """Return what was changed of the containers that a request lent."""
        after = {number: self._content(number) for number in borrowed}
        return [[n, json.loads(after[n])] for n in borrowed if after[n] != borrowed[n]]

    def _content(self, number: int) -> str:
        box = self._boxes[number]
        return json.dumps([self.encode(item) for item in BOXES[type(box)].get(box)])

    def special(self, value: Any) -> Any:
        """Encode what is lent, what was lent, and exceptions."""
        if (number := self._numbers.get(id(value))) is not None:
            return {"$ref": number}
        if self._lending is not None and type(value) in BOXES:
            return self._lend_one(value)
        if isinstance(value, BaseException):
            number = self._error_numbers.get(id(value))
            return self.error(value) if number is None else {"$error": number}
        if type(value) is bytearray:
            return {"$bytearray": self.encode(bytes(value))}
        return None

    def _lend_one(self, box: Any) -> Any:
        assert self._lending is not None
        number = self._number(box)
        self._lending.append(number)
        detail = getattr(box, "maxlen", None) or getattr(box, "default_factory", None)
        items = [self.encode(item) for item in BOXES[type(box)].get(box)]
        return {"$box": [number, type(box).__name__, self.encode(detail), items]}

    def _number(self, box: Any) -> int:
        self._last += 1
        number = self._last * self._sign
        self._boxes[number], self._numbers[id(box)] = box, number
        return number

    def error(self, error: BaseException) -> Any:
        """Encode an exception that the other side does not have; it is remembered by number."""
        self._last += 1
        number = self._last * self._sign
        self._errors[number], self._error_numbers[id(error)] = error, number
        attributes = {k: v for k, v in vars(error).items() if not k.startswith("__")}
        parts = [type(error), list(error.args), _text(error), attributes, error.__cause__]
        return {"$raised": [number, *(self._copied(part) for part in parts)]}

    def _copied(self, value: Any) -> Any:
        outer, self._lending = self._lending, None
        try:
            return self.encode(value)
        finally:
            self._lending = outer

    def tagged(self, tag: str, content: Any) -> Any:
        """Decode what `special` encodes."""
        if tag == "$ref":
            return self._boxes[content]
        if tag == "$error":
            return self._errors[content]
        if tag == "$box":
            return self._borrow_one(*content)
        if tag == "$bytearray":
            return bytearray(self.decode(content))
        if tag == "$raised":
            number, *parts = content
            self._check_number(number)
            made = self.make_error(number, *map(self.decode, parts))
            self._errors[number], self._error_numbers[id(made)] = made, number
            return made
        return NotImplemented

    def _borrow_one(self, number: int, kind: str, detail: Any, items: Any) -> Any:
        self._check_number(number)
        box = _BOX_NAMES[kind]
        made = BOXES[box].make(self.decode(detail))
        self._boxes[number], self._numbers[id(made)] = made, number
        BOXES[box].put(made, self.decode(items))
        return made

    def _check_number(self, number: Any) -> None:
        known = number in self._boxes or number in self._errors
        if type(number) is not int or number * self._sign >= 0 or known:
            raise ValueError(f"no number of the other side: {number!r:.50}")

    def make_error(
        self, number: int, kind: Any, args: Any, text: Any, attributes: Any, cause: Any
    ) -> BaseException:
        """Build an exception from its parts."""
        raise NotImplementedError


def _text(error: BaseException) -> str:
    try:
        return str.__str__(str(error))
    except Exception:
        return "?"
