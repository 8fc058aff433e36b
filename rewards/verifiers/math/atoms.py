"""The smallest things that have a value: numbers, names, functions and what brackets hold."""

from __future__ import annotations

from fractions import Fraction

from rewards.verifiers.math.macros import SPECIAL, Macros
from rewards.verifiers.math.terms import (
    Apply,
    Builder,
    Group,
    Measured,
    Number,
    Symbol,
    Term,
    TooLarge,
    Unreadable,
)
from rewards.verifiers.math.tokens import FUNCTION_WORDS, Token
from rewards.verifiers.math.units import read_multiplier, read_unit
from rewards.verifiers.math.vocabulary import (
    ALL_CLOSERS,
    ALWAYS_APPLIED,
    APPLIED,
    CLOSERS,
    CURRENCIES,
    EMPTY,
    FUNCTIONS,
    NAMED_VALUES,
    RELATIONS,
    SAME_FUNCTION,
    SETS,
    TIMES,
)

MAX_DIGITS = 2048
_LONGEST_FIRST = sorted(FUNCTION_WORDS, key=lambda word: (-len(word), word))


class Atoms(Macros):
    """Reads one atom."""

    def _atom(self) -> Term:
        token = self._take()
        match token.kind:
            case "number":
                return self._number(token.text)
            case "base":
                digits, _, radix = token.text.partition("_")
                return based(digits.strip(), int(radix.strip("{ }")))
            case "word":
                return self._word(token)
            case "macro":
                return self._macro(token)
            case "sign":
                return self._sign(token)
        raise Unreadable(f"{token.text!r:.20} was not expected" if token.text else "it breaks off")

    # ---- numbers -----------------------------------------------------------------------------

    def _number(self, text: str) -> Term:
        if len(text) > MAX_DIGITS:
            raise TooLarge(f"it has a number of more than {MAX_DIGITS} digits")
        if "." in text and self.next.text in (r"\overline", r"\bar", r"\dot"):
            self._take()
            repeating = self._braced_text()
            return _repeating(text, repeating)
        whole, _, decimals = text.partition(".")
        if self.next.text == "(" and text.endswith("."):
            raise Unreadable("a number that breaks off")
        if self.next.text == r"\ldots" and len(decimals) >= 3 and len(set(decimals[-3:])) == 1:
            self._take()
            return _repeating(text[:-1], decimals[-1])
        value = Fraction(int(whole + decimals or "0"), 10 ** len(decimals))
        places = len(decimals) if decimals else None
        number = Number(value, places, len((whole + decimals).lstrip("0")))
        return self._scientific(number)

    def _scientific(self, number: Number) -> Number:
        """Read the exponent of "1.5e-7", whose letter stands between two numbers unspaced."""
        word, sign, power = self.next, self._peek(), self._peek(2)
        if word.kind != "word" or word.text not in ("e", "E") or word.spaced:
            return number
        signed = sign.text in ("+", "-") and not sign.spaced
        digits = power if signed else sign
        if digits.kind != "number" or digits.spaced or not digits.text.isdigit():
            return number
        if len(digits.text) > 4:
            raise TooLarge("its exponent is too large")
        self._at += 3 if signed else 2
        exponent = int(digits.text) * (-1 if sign.text == "-" else 1)
        return scaled(number, exponent)

    # ---- names -------------------------------------------------------------------------------

    def _word(self, token: Token) -> Term:
        text = token.text
        if text in FUNCTION_WORDS:
            return self._function(text)
        if text in NAMED_VALUES:
            return Symbol(NAMED_VALUES[text])
        if len(text) > 1 and text not in ("dx", "dt", "dy"):
            return self._letters(token)
        if text == "C" and self.next.text == "(" and not self.next.spaced:
            return self._combinations()
        if text in APPLIED or text.isupper():
            return self._applied(text)
        return self._named(text)

    def _combinations(self) -> Term:
        """Read C(5, 2) as a binomial coefficient; C(x) is a product."""
        argument = self._nested(self._atom)
        match argument:
            case Group("(", ")", (n, k)):
                return Apply("binom", (n, k))
        return Apply("*", (Symbol("C"), argument))

    def _letters(self, token: Token) -> Term:
        """Split a run of letters into a product: "xy" is x times y. Words are none."""
        if len(token.text) > 2 and token.text.isupper():
            return self._named(token.text)  # a quantity of its own: "SRMC", "ABC"
        if len(token.text) > 3:
            for name in _LONGEST_FIRST:
                if token.text.startswith(name) or token.text.endswith(name):
                    return self._split(token, name)
            raise Unreadable(f"the word {token.text!r:.30}")
        last = self._peek(0).text in ("^", "_", "'")
        pieces = [Symbol(letter) for letter in token.text[:-1]]
        final = (
            self._raised(self._named(token.text[-1]))
            if last
            else self._word(Token("word", token.text[-1], token.start, False))
        )
        return Apply("*", (*pieces, final))

    def _split(self, token: Token, name: str) -> Term:
        rest = token.text.removesuffix(name) if token.text.endswith(name) else ""
        if not rest or len(rest) > 2:
            raise Unreadable(f"the word {token.text!r:.30}")
        return Apply("*", (*(Symbol(letter) for letter in rest), self._function(name)))

    def _named(self, name: str) -> Term:
        """Read the subscript and the primes that belong to a name."""
        if self.next.kind == "sign" and self.next.text == "_":
            self._take()
            name = f"{name}_{self._subscript()}"
        while self.next.kind == "sign" and self.next.text == "'":
            self._take()
            name += "'"
        if (
            self.next.text == "^"
            and self._is_degree(self.next)
            and r"\circ" not in (self._peek().text, self._peek(2).text)
        ):  # y^{\prime}
            self._take()
            name += "'" * self._braced_text().count("prime")
        return Symbol(name)

    def _macro(self, token: Token) -> Term:
        name = token.text[1:]
        if special := SPECIAL.get(name):
            return special(self)
        if token.text in FUNCTIONS:
            return self._function(name)
        if token.text in CLOSERS:
            return self._bracketed(token.text)
        if name in ("text", "mbox", "mathrm", "frac"):
            raise Unreadable("a macro without its argument")
        if name in SETS:
            return Symbol("\\" + name)
        if token.text in APPLIED:
            return self._applied(name)
        if token.text in ALL_CLOSERS or token.text in RELATIONS or token.text in TIMES:
            raise Unreadable(f"{token.text} was not expected")
        return self._named("infty" if name == "infty" else name)

    def _sign(self, token: Token) -> Term:
        if token.text in CLOSERS:
            return self._bracketed(token.text)
        if token.text == "|":
            return self._absolute("|")
        if token.text == r"\|":
            return self._absolute(r"\|")
        if token.text in CURRENCIES:
            return self._money(token.text.lstrip("\\"))
        raise Unreadable(f"{token.text!r:.20} was not expected")

    def _money(self, sign: str) -> Term:
        """Read the amount behind a currency sign, and what it is paid for."""
        if self.next.kind != "number" and self.next.text not in (r"\frac", "{", "-"):
            raise Unreadable("a currency sign without an amount")
        amount = self._product()
        unit = read_unit(sign)
        if isinstance(amount, Measured) and unit is not None:
            named_again = amount.unit.dimension == unit.dimension  # "$5 dollars"
            unit = amount.unit if named_again else read_unit(f"{sign} {amount.unit.name}") or unit
            amount = amount.value
        if unit is None:
            raise Unreadable(f"the currency {sign!r}")
        return Measured(amount, unit)

    # ---- brackets ----------------------------------------------------------------------------

    def _absolute(self, bar: str) -> Term:
        self._bars += 1
        inside = self._nested(self.statements)
        self._bars -= 1
        self._expect(bar)
        return Apply("abs", (inside,))

    def _bracketed(self, left: str) -> Term:
        bars, self._bars = self._bars, 0
        term = self._nested(lambda: self._bracketed_inside(left))
        self._bars = bars
        return term

    def _bracketed_inside(self, left: str) -> Term:
        if self.next.text == EMPTY.get(left):
            right = self._take().text
            return Group(_side(left), _side(right), ())
        self._bars = int(left in (r"\{", "{"))  # "|" and ":" separate element and condition
        inside = self.statements()
        self._bars = 0
        if left in (r"\{", "{") and self.next.text in ("|", r"\mid", ":"):
            self._take()
            condition = self.statements()
            self._close(left)
            return Builder(inside, condition)
        if left == "{" and self.next.text in (r"\choose", r"\over"):
            inside = self._infix(inside)
        right = self._close(left)
        if left in (r"\lfloor", r"\lceil"):
            return Apply("floor" if left == r"\lfloor" else "ceil", (inside,))
        if isinstance(inside, Group) and inside.left == "":
            return Group(_side(left), _side(right), inside.items, inside.joiner)
        if left == "{" or (left in "([" and left + right in ("()", "[]") and left == "("):
            return inside if left == "{" else Group("(", ")", (inside,))
        return Group(_side(left), _side(right), (inside,))

    def _close(self, left: str) -> str:
        if self.next.text not in CLOSERS[left]:
            raise Unreadable(f"{left!r} is not closed before {self.next.text!r:.20}")
        return self._take().text

    def _is_degree(self, token: Token) -> bool:
        after = self._peek()
        if after.text == "{":
            after = self._peek(2)
        return after.text in (r"\circ", r"\prime", "'")

    def _multiplied(self, terms: list[Term]) -> Term:
        return Apply("*", tuple(terms)) if len(terms) > 1 else terms[0]

    def _multiplier(self) -> Fraction | None:
        if self.next.kind in ("text", "word") and len(self.next.text) > 3:
            times = read_multiplier(self.next.text.strip())
            if times is not None:
                self._take()
            return times
        return None

    # ---- functions ---------------------------------------------------------------------------

    def _function(self, name: str) -> Term:
        power: Term | None = None
        base: Term | None = None
        while self.next.kind == "sign" and self.next.text in ("^", "_"):
            if self._take().text == "_":
                base = self._nested(self._group)
            elif not self._is_inverse():
                power = self._nested(self._exponent)
            else:
                name = name if name.startswith("arc") else "arc" + name
        argument = self._argument(name)
        name = SAME_FUNCTION.get(name, name)
        args = (
            argument.items if isinstance(argument, Group) and argument.left in "({" else (argument,)
        )
        if name == "log" and base is not None:
            args = (*args, base)
        applied: Term = Apply(name, args)
        return Apply("^", (applied, power)) if power is not None else applied

    def _is_inverse(self) -> bool:
        r"""Take the exponent of `\sin^{-1}`, which means the inverse function."""
        here = [self._peek(i).text for i in range(4)]
        if here == ["{", "-", "1", "}"]:
            self._at += 4
            return True
        return False

    def _argument(self, name: str) -> Term:
        if self.next.text in ("{", "(", r"\{") and self.next.kind == "sign":
            return self._nested(self._atom)
        terms = [self._factor()]
        while self._continues_argument():
            terms.append(self._factor())
        while self.next.text == "/" and self._peek().kind == "number":
            self._take()
            terms.append(Apply("inverse", (self._factor(),)))
        argument = self._multiplied(terms)
        if self.next.text == "^" and self._is_degree(self.next) and (unit := self._unit()):
            return Measured(argument, unit)
        return argument

    def _continues_argument(self) -> bool:
        token = self.next
        if token.text in FUNCTIONS or (token.kind == "word" and token.text in FUNCTION_WORDS):
            return False
        if token.kind == "sign":
            return token.text == "{"
        return self._starts_factor(token) and token.text not in TIMES

    def _applied(self, name: str) -> Term:
        """Read `f(x)`; whether `P(1 + r)` is a product is a matter of what the brackets hold."""
        if self.next.text != "(" or (self.next.spaced and name not in ALWAYS_APPLIED):
            return self._named(name)
        start = self._at
        argument = self._bracketed(self._take().text)
        args = argument.items if isinstance(argument, Group) else (argument,)
        lone = all(isinstance(a, Symbol | Number) for a in args)
        if name in ALWAYS_APPLIED or (name in APPLIED and lone) or _is_value_of(name, args):
            return Apply("call " + name, args)
        self._at = start
        return self._named(name)


def _is_value_of(name: str, args: tuple[Term, ...]) -> bool:
    """Whether something like `T(8)` is a value of a function: a capital, and one number."""
    return name.isupper() and len(args) == 1 and isinstance(args[0], Number)


def _side(bracket: str) -> str:
    return {r"\{": "{", r"\}": "}", r"\langle": "<", r"\rangle": ">"}.get(bracket, bracket)


def based(digits: str, radix: int) -> Term:
    """Return a number that was written in another base.

    Raises:
        Unreadable: If its digits are none of that base.
    """
    try:
        value = int(digits, radix)
    except ValueError:
        raise Unreadable(f"{digits!r:.30} is no number in base {radix}") from None
    return Apply("base", (Number(Fraction(value)), Number(Fraction(radix))))


def _repeating(before: str, repeating: str) -> Number:
    if not repeating.isdigit():
        raise Unreadable("a repeating decimal without digits")
    whole, _, decimals = before.partition(".")
    shift = 10 ** len(decimals)
    value = Fraction(int(whole + decimals or "0"), shift)
    return Number(value + Fraction(int(repeating), shift * (10 ** len(repeating) - 1)))


def scaled(number: Number, exponent: int) -> Number:
    """Return a literal times a power of ten, with its decimals moved along."""
    places = None if number.places is None and exponent >= 0 else (number.places or 0) - exponent
    return Number(number.value * Fraction(10) ** exponent, places, number.digits)
