r"""Read an answer as mathematics: LaTeX, plain text and what models mix of both.

A recursive-descent parser over `tokens`. It never evaluates anything and takes linear time; what it
does not understand raises `Unreadable`. Conventions where notation is ambiguous:

- `2\frac{3}{5}` and `2 3/5` are mixed numbers; any other juxtaposition is a product.
- `\sin 2x` ends at the next sign or function, `\sin(x) y` at the bracket.
- `f(x)`, `g(x)`, `h(x)`, `F(x)`, `P(x)`... apply a function; `a(x)` is a product.
- Letters behind a number that name a unit are that unit when a space stands before them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from rewards.verifiers.math.terms import (
    Apply,
    Builder,
    Group,
    Matrix,
    Measured,
    Number,
    Relation,
    Symbol,
    Term,
    TooLarge,
    Unreadable,
)
from rewards.verifiers.math.tokens import FUNCTION_WORDS, MAX_TOKENS, Token, rewritten, tokenize
from rewards.verifiers.math.units import Unit, read_multiplier, read_unit
from rewards.verifiers.math.words import read_number_words

MAX_NESTING = 40
_SPACES = re.compile(r"\\[,;:! ]|\\q?quad(?![A-Za-z])|~|(?<!\\)\$|\s")
MAX_DIGITS = 2048

_RELATIONS = {
    "=": "=", "==": "=", ":=": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "!=": "!=",
    r"\le": "<=", r"\ge": ">=", r"\neq": "!=", r"\approx": "~", r"\in": "in", r"\notin": "notin",
    r"\equiv": "mod", r"\ll": "<", r"\gg": ">", r"\doteq": "=", r"\subset": "subset",
    r"\subseteq": "subset", r"\cong": "cong", r"\sim": "sim", r"\to": "to", r"\propto": "propto",
}  # fmt: skip
_SET_OPERATIONS = {r"\cup": "cup", r"\cap": "cap", r"\setminus": "setminus", r"\bigcup": "cup"}
_SUMS = {"+": "+", "-": "-", r"\pm": "pm", r"\mp": "mp"}
_TIMES = frozenset(["*", r"\cdot", r"\times"])
_OVER = frozenset(["/", r"\div"])
_CLOSERS = {
    "(": frozenset([")", "]"]),
    "[": frozenset(["]", ")", "["]),
    "]": frozenset(["[", ")"]),
    r"\{": frozenset([r"\}"]),
    "{": frozenset(["}"]),
    r"\langle": frozenset([r"\rangle"]),
    r"\lfloor": frozenset([r"\rfloor"]),
    r"\lceil": frozenset([r"\rceil"]),
    "<": frozenset([">"]),
}
_ALL_CLOSERS = frozenset([")", "]", "}", r"\}", r"\rangle", r"\rfloor", r"\rceil", "", "&", r"\\"])
_FUNCTIONS = frozenset("\\" + word for word in FUNCTION_WORDS) | {r"\gcd", r"\arg", r"\Re", r"\Im"}
_SAME_FUNCTION = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
_APPLIED = frozenset(["f", "g", "h", "F", "G", "H", "P", "Q", "p", "u", r"\phi", r"\psi", r"\delta"])
_NAMED_VALUES = {"pi": "pi", "infinity": "infty", "infty": "infty", "oo": "infty", "inf": "infty"}
_NAMED_VALUES |= {name: name for name in ("alpha", "beta", "gamma", "theta", "omega", "lambda")}
_SETS = {"reals": "reals", "integers": "integers", "naturals": "naturals", "emptyset": "emptyset"}
_BLACKBOARD = {"R": "reals", "Z": "integers", "N": "naturals", "Q": "rationals", "C": "complexes"}
_AND, _OR = frozenset(["and", "und", "et", r"\land", "&&"]), frozenset(["or", r"\lor"])
_SEPARATORS = frozenset([",", ";"])
_CLAUSES = frozenset(["where", "for", "with", "when", "if", "such that", "for all", "for any", "for some"])


def parse(text: str, *, grouping: bool = True, letter_units: bool = True) -> Term:
    """Return the syntax tree of `plain` text.

    Args:
        text: The answer.
        grouping: Whether "1,234" is one number rather than two.
        letter_units: Whether a spaced letter behind a number may be a unit: "5 m".

    Raises:
        Unreadable: If it is not understood.
        TooLarge: If it has too many tokens, digits or levels.
    """
    text = rewritten(text)
    parser = _Parser(text, tokenize(text, grouping=grouping), letter_units)
    term = parser.statements()
    if parser.next.kind != "end":
        raise Unreadable(f"{parser.next.text!r:.20} was not expected")
    return term


class _Parser:
    def __init__(self, text: str, tokens: list[Token], letter_units: bool) -> None:
        if len(tokens) > MAX_TOKENS:
            raise TooLarge(f"it has more than {MAX_TOKENS} numbers, letters and signs")
        self._text, self._tokens, self._letter_units = text, tokens, letter_units
        self._at = self._depth = self._bars = 0

    # ---- tokens ------------------------------------------------------------------------------

    @property
    def next(self) -> Token:
        return self._tokens[self._at]

    def _peek(self, ahead: int = 1) -> Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def _take(self) -> Token:
        token = self._tokens[self._at]
        if token.kind != "end":
            self._at += 1
        return token

    def _accept(self, *texts: str) -> bool:
        if self.next.text in texts and self.next.kind in ("sign", "macro", "word"):
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise Unreadable(f"{text!r} is missing before {self.next.text!r:.20}")

    def _nested(self, read: Callable[[], Term]) -> Term:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise TooLarge(f"it is nested deeper than {MAX_NESTING}")
        term = read()
        self._depth -= 1
        return term

    # ---- statements --------------------------------------------------------------------------

    def statements(self) -> Term:
        """Read statements up to a closing bracket or the end."""
        items, joiner = [self._relation()], ""
        outer: list[int] = []
        while word := self._joiner():
            joiner = word if word not in ",;" else joiner or ","
            if self.next.text in _ALL_CLOSERS and self.next.kind != "text":
                break
            if word == ";":
                outer.append(len(items))
            items.append(self._relation())
        if len(items) == 1:
            return items[0]
        return Group("", "", _chunked(items, outer), joiner)

    def _joiner(self) -> str:
        found = ""
        while True:
            token = self.next
            word = token.text.strip(" ,.~").lower() if token.kind == "text" else token.text
            if token.kind in ("sign", "macro", "text", "word") and token.text.strip():
                if word in _OR:
                    found = "or"
                elif word in _AND:
                    found = found if found == "or" else "and"
                elif token.text.strip() == ";":
                    found = found or ";"
                elif token.text.strip() in _SEPARATORS or (
                    found == "" and token.kind in ("text", "word") and word in _CLAUSES
                ):
                    found = found or ","
                elif token.kind == "text" and word == "":
                    found = found or ","
                else:
                    return found
                self._at += 1
            elif token.kind == "text":  # blank
                self._at += 1
            else:
                return found

    def _relation(self) -> Term:
        sides, operators = [], []
        if self._relation_sign():  # "> 12", "\approx 12", "\neq 5", "= 42"
            operator = self._take_relation()
            return Relation((operator,), (Symbol(""), self._set_expression()))
        sides.append(self._set_expression())
        while self._relation_sign():
            operators.append(self._take_relation())
            sides.append(self._set_expression())
        if operators == ["mod"]:
            operators.append("mod")
            sides.append(self._modulus())
        return Relation(tuple(operators), tuple(sides)) if operators else sides[0]

    def _modulus(self) -> Term:
        if self._accept(r"\pmod"):
            return self._nested(self._group)
        bracket = self._accept("(")
        if not self._accept(r"\mod", "mod"):
            raise Unreadable("a congruence without a modulus")
        modulus = self._factor()
        if bracket:
            self._expect(")")
        return modulus

    def _relation_sign(self) -> bool:
        token = self.next
        if token.kind == "macro" and token.text == r"\not":
            return True
        return token.kind in ("sign", "macro") and token.text in _RELATIONS

    def _take_relation(self) -> str:
        token = self._take()
        if token.text == r"\not":
            follows = _RELATIONS.get(self._take().text, "")
            if follows not in ("=", "in"):
                raise Unreadable(r"\not before an unknown relation")
            return "!=" if follows == "=" else "notin"
        operator = _RELATIONS[token.text]
        if operator in "<>" and self._accept("="):
            return operator + "="
        return operator

    def _set_expression(self) -> Term:
        term = self._ratio()
        while self.next.kind in ("macro", "word") and (
            self.next.text in _SET_OPERATIONS or (self.next.text == "U" and self._at_set())
        ):
            head = _SET_OPERATIONS.get(self._take().text, "cup")
            term = Apply(head, (term, self._ratio()))
        return term

    def _at_set(self) -> bool:
        return self._peek().text in ("(", "[", r"\{", "{") and self.next.spaced

    def _ratio(self) -> Term:
        terms = [self._sum()]
        while self.next.kind == "sign" and self.next.text == ":" and not self._bars:
            self._take()
            terms.append(self._sum())
        return Apply(":", tuple(terms)) if len(terms) > 1 else terms[0]

    # ---- arithmetic --------------------------------------------------------------------------

    def _sum(self) -> Term:
        return self._nested(self._sum_inside)

    def _sum_inside(self) -> Term:
        terms: list[Term] = []
        head = self._sum_sign() or "+"
        terms.append(self._signed(head, self._product()))
        while sign := self._sum_sign():
            terms.append(self._signed(sign, self._product()))
        return Apply("+", tuple(terms)) if len(terms) > 1 else terms[0]

    def _sum_sign(self) -> str:
        if self.next.kind in ("sign", "macro") and (sign := _SUMS.get(self.next.text)):
            self._take()
            if sign == "+" and self.next.text == "-" and self._peek().text == "":
                raise Unreadable("a sign without a term")
            if sign == "+" and self._accept("/"):  # "+/-"
                self._expect("-")
                return "pm"
            return sign
        return ""

    def _signed(self, sign: str, term: Term) -> Term:
        return term if sign == "+" else Apply("neg" if sign == "-" else sign, (term,))

    def _product(self) -> Term:
        terms = [self._factor()]
        while True:
            token = self.next
            if token.kind in ("sign", "macro") and token.text in _TIMES:
                self._take()
                terms.append(self._factor())
            elif token.kind in ("sign", "macro") and token.text in _OVER:
                if (unit := self._unit()) is not None:
                    terms = [Measured(self._multiplied(terms), unit)]
                    continue
                self._take()
                terms.append(Apply("inverse", (self._factor(),)))
            elif token.kind == "macro" and token.text in (r"\mod", "mod"):
                self._take()
                terms = [Apply("mod", (self._multiplied(terms), self._factor()))]
            elif (unit := self._unit()) is not None:
                terms = [Measured(self._multiplied(terms), unit)]
                if self.next.kind == "number" and unit.dimension:  # 5 ft 3 in
                    return Apply("compound", (terms[0], self._product()))
            elif (times := self._multiplier()) is not None:
                terms.append(Number(times))
            elif self._starts_factor(token):
                terms.append(self._juxtaposed(terms))
            else:
                return self._multiplied(terms)

    def _multiplied(self, terms: list[Term]) -> Term:
        return Apply("*", tuple(terms)) if len(terms) > 1 else terms[0]

    def _juxtaposed(self, before: list[Term]) -> Term:
        """Read the next factor of an implied product, or the fraction of a mixed number."""
        whole, start = before[-1], self._at
        token = self.next
        if isinstance(whole, Number) and token.kind == "number" and not token.spaced:
            raise Unreadable("two numbers in a row")
        factor = self._factor()
        if isinstance(whole, Number) and whole.places is None and whole.value.denominator == 1:
            part = self._proper_fraction(factor)
            if token.kind == "number" and part is None and self.next.text == "/":
                self._take()
                low = self._factor()
                part = self._proper_fraction(Apply("/", (factor, low)))
                if part is None:
                    raise Unreadable("two numbers in a row")
            if part is not None and len(before) == 1:
                before.clear()
                return Number(whole.value + part)
            if token.kind == "number":
                raise Unreadable("two numbers in a row")
        elif token.kind == "number" and self._tokens[start - 1].kind == "number":
            raise Unreadable("two numbers in a row")
        return factor

    @staticmethod
    def _proper_fraction(term: Term) -> Fraction | None:
        match term:
            case Apply("/", (Number(top, None), Number(low, None))) if 0 < top < low:
                return top / low
        return None

    def _starts_factor(self, token: Token) -> bool:
        if token.kind in ("number", "base"):
            return True
        if token.kind == "word":
            return token.text not in _AND and token.text not in _OR and token.text != "U"
        if token.kind == "macro":
            return not (
                token.text in _RELATIONS
                or token.text in _SET_OPERATIONS
                or token.text in _SUMS
                or token.text in _ALL_CLOSERS
                or token.text in (r"\not", r"\land", r"\lor", r"\mid", r"\end", r"\mod", r"\pmod")
                or token.text in (r"\text", r"\quad", r"\choose")
            )
        if token.kind == "sign":
            if token.text == "|":
                return not self._bars
            return token.text in ("(", "[", "{", r"\{", r"\$", "£", "€") or token.text == r"\|"
        return False

    def _factor(self) -> Term:
        if self.next.kind in ("sign", "macro") and (sign := _SUMS.get(self.next.text)):
            self._take()
            return self._nested(lambda: self._signed(sign, self._factor()))
        return self._raised(self._nested(self._atom))

    def _raised(self, base: Term) -> Term:
        while True:
            token = self.next
            if token.kind == "sign" and token.text in ("^", "**"):
                if self._is_degree(token):
                    return base
                self._take()
                base = Apply("^", (base, self._nested(self._exponent)))
                if self.next.text in ("^", "**"):
                    raise Unreadable("a double exponent")
            elif token.kind == "sign" and token.text == "!":
                self._take()
                base = Apply("factorial", (base,))
            elif token.kind == "sign" and token.text == "_" and isinstance(base, Group | Number):
                self._take()
                base = self._in_base(base)
            else:
                return base

    def _is_degree(self, token: Token) -> bool:
        after = self._peek()
        if after.text == "{":
            after = self._peek(2)
        return after.text in (r"\circ", r"\prime", "'")

    def _exponent(self) -> Term:
        if self.next.text == "{":
            return self._group()
        signs = 0
        while self.next.text in ("-", "+"):
            signs += self._take().text == "-"
        term = self._atom()
        if self.next.text in ("^", "**") and self._tokens[self._at - 1].text != "}":
            self._take()  # 2**3**2, which is right-associative
            term = Apply("^", (term, self._nested(self._exponent)))
        if self.next.text == "!" and self.next.kind == "sign":
            self._take()
            term = Apply("factorial", (term,))
        return Apply("neg", (term,)) if signs % 2 else term

    def _in_base(self, base: Term) -> Term:
        inner = base.items[0] if isinstance(base, Group) and len(base.items) == 1 else base
        radix = self._radix()
        if not (isinstance(inner, Number) and inner.places is None and radix.isdigit()):
            raise Unreadable("a subscript on something that is no number")
        return _based(str(inner.value), int(radix[:4]))

    def _radix(self) -> str:
        r"""Take the base in `312_5`, `312_{\\text{five}}` or `312_{\\text{base }5}`."""
        text = self._subscript().removeprefix("base").strip()
        number = None if text.isdigit() else read_number_words(text)
        return text if number is None else str(number)

    # ---- units -------------------------------------------------------------------------------

    def _unit(self) -> Unit | None:
        """Take the unit that starts here, if one does."""
        token = self.next
        if not self._may_start_unit(token):
            return None
        for end in self._unit_ends():
            segment = self._text[token.start : self._tokens[end].start]
            segment = _SPACES.sub(" ", segment).strip()
            unit = read_unit(segment) or read_unit(segment.lower() if segment.istitle() else "")
            if unit is not None:
                self._at = end
                return unit
        return None

    def _may_start_unit(self, token: Token) -> bool:
        if token.kind == "text":
            return token.text.strip(" ,.~").lower() not in _AND | _OR
        if token.kind == "word":
            if token.text in ("min", "sec"):
                return self._peek().kind == "end" or self._peek().text in _SEPARATORS
            if token.text in FUNCTION_WORDS or token.text in _NAMED_VALUES:
                return False
            if len(token.text) == 1:
                return token.spaced and self._letter_units
            return True
        if token.text == "/":
            after = self._peek()
            return after.kind == "text" or (after.kind == "word" and len(after.text) > 1)
        if token.text == "^":
            return self._is_degree(token)
        if token.text == "{":
            return self._peek().kind == "word"
        return token.text in ("%", r"\%", r"\circ", r"\AA", r"\mu", "'", '"', r"\$", "£", "€", "¢")

    def _unit_ends(self) -> list[int]:
        """Return where a unit may end: before the next separator, or number that is no exponent."""
        ends: list[int] = []
        at, raised, depth = self._at, False, 0
        while at < len(self._tokens) and len(ends) < 4:
            token = self._tokens[at]
            depth += (token.text in ("{", "(")) - (token.text in ("}", ")"))
            stops = depth < 0 or token.kind == "end" or token.text in _SEPARATORS
            stops = stops or (token.kind in ("sign", "macro") and token.text in _RELATIONS)
            stops = stops or token.text in ("]", r"\}", "+", "&", r"\\", r"\cup")
            word = token.text.strip(" ,.~").lower()
            stops = stops or (token.kind in ("word", "text") and word in _AND | _OR)
            if stops:
                ends.append(at)
                break
            if token.kind == "number" and not raised and depth == 0 and at > self._at:
                ends.append(at)
            raised = token.text in ("^", "-") or (raised and token.text == "{")
            at += 1
        if self.next.text == "^":  # "180^\circ n"
            ends.append(self._at + (4 if self._peek().text == "{" else 2))
        elif len(ends) > 1 or self.next.kind == "text":
            ends.append(self._at + 1)
        return ends

    def _multiplier(self) -> Fraction | None:
        if self.next.kind in ("text", "word") and len(self.next.text) > 3:
            times = read_multiplier(self.next.text.strip())
            if times is not None:
                self._take()
            return times
        return None

    # ---- atoms -------------------------------------------------------------------------------

    def _atom(self) -> Term:
        token = self._take()
        match token.kind:
            case "number":
                return self._number(token.text)
            case "base":
                digits, _, radix = token.text.partition("_")
                return _based(digits.strip(), int(radix.strip("{ }")))
            case "word":
                return self._word(token)
            case "macro":
                return self._macro(token)
            case "sign":
                return self._sign(token)
        raise Unreadable(f"{token.text!r:.20} was not expected" if token.text else "it breaks off")

    def _number(self, text: str) -> Term:
        if len(text) > MAX_DIGITS:
            raise TooLarge(f"it has a number of more than {MAX_DIGITS} digits")
        if "." in text and self.next.text in (r"\overline", r"\bar", r"\dot") :
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
        if len(digits.text) > 5:
            raise TooLarge("its exponent is too large")
        self._at += 3 if signed else 2
        exponent = int(digits.text) * (-1 if sign.text == "-" else 1)
        return scaled(number, exponent)

    def _word(self, token: Token) -> Term:
        text = token.text
        if text in FUNCTION_WORDS:
            return self._function(text)
        if text in _NAMED_VALUES:
            return Symbol(_NAMED_VALUES[text])
        if len(text) > 1 and text not in ("dx", "dt", "dy"):
            return self._letters(token)
        if text == "C" and self.next.text == "(" and not self.next.spaced:
            return self._combinations()
        if text in _APPLIED and self.next.text == "(" and not self.next.spaced:
            return self._application(text)
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
            for name in FUNCTION_WORDS:
                if token.text.startswith(name) or token.text.endswith(name):
                    return self._split(token, name)
            raise Unreadable(f"the word {token.text!r:.30}")
        last = self._peek(0).text in ("^", "_", "'")
        pieces = [Symbol(letter) for letter in token.text[:-1]]
        final = self._raised(self._named(token.text[-1])) if last else self._word(
            Token("word", token.text[-1], token.start, False)
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
        if self.next.text == "^" and self._is_degree(self.next) and r"\circ" not in (
            self._peek().text, self._peek(2).text
        ):  # y^{\prime}
            self._take()
            name += "'" * self._braced_text().count("prime")
        return Symbol(name)

    def _subscript(self) -> str:
        if self.next.text == "{":
            return self._braced_text()
        return self._take().text.lstrip("\\")

    def _braced_text(self) -> str:
        """Take one argument and return its tokens' text."""
        if not self._accept("{"):
            return self._take().text.lstrip("\\")
        pieces, depth = [], 1
        while True:
            token = self._take()
            if token.kind == "end":
                raise Unreadable("a brace that is not closed")
            depth += (token.text == "{") - (token.text == "}")
            if depth == 0:
                return "".join(pieces)
            pieces.append(token.text.strip().lstrip("\\"))

    def _macro(self, token: Token) -> Term:
        name = token.text[1:]
        if special := _SPECIAL.get(name):
            return special(self)
        if token.text in _FUNCTIONS:
            return self._function(name)
        if token.text in _CLOSERS:
            return self._bracketed(token.text)
        if name in _SETS:
            return Symbol("\\" + name)
        if token.text in _APPLIED and self.next.text == "(" and not self.next.spaced:
            return self._application(name)
        if token.text in _ALL_CLOSERS or token.text in _RELATIONS or token.text in _TIMES:
            raise Unreadable(f"{token.text} was not expected")
        return self._named("infty" if name == "infty" else name)

    def _sign(self, token: Token) -> Term:
        if token.text in _CLOSERS:
            return self._bracketed(token.text)
        if token.text == "|":
            return self._absolute("|")
        if token.text == r"\|":
            return self._absolute(r"\|")
        if token.text in (r"\$", "£", "€"):
            unit = read_unit(token.text.lstrip("\\"))
            value = self._currency_amount()
            if unit is not None:
                return Measured(value, unit)
        raise Unreadable(f"{token.text!r:.20} was not expected")

    def _currency_amount(self) -> Term:
        if self.next.kind != "number" and self.next.text not in (r"\frac", "{", "-"):
            raise Unreadable("a currency sign without an amount")
        value = self._factor()
        times = self._multiplier()
        return Apply("*", (value, Number(times))) if times is not None else value

    def _absolute(self, bar: str) -> Term:
        self._bars += 1
        inside = self._nested(self.statements)
        self._bars -= 1
        self._expect(bar)
        return Apply("abs", (inside,))

    def _group(self) -> Term:
        """Read a braced argument, or the single token that TeX would take for one."""
        if self._accept("{"):
            inside = self._nested(self.statements)
            self._expect("}")
            return inside
        if self.next.kind == "number" and len(self.next.text) > 1 and self.next.text.isdigit():
            digit, rest = self.next.text[0], self.next.text[1:]
            self._tokens[self._at] = self.next._replace(text=rest, spaced=False)
            return Number(Fraction(int(digit)))
        if self.next.text == "(":
            return self._nested(self._atom)
        return self._nested(self._atom)

    def _bracketed(self, left: str) -> Term:
        bars, self._bars = self._bars, 0
        term = self._nested(lambda: self._bracketed_inside(left))
        self._bars = bars
        return term

    def _bracketed_inside(self, left: str) -> Term:
        if self.next.text in _CLOSERS[left]:
            right = self._take().text
            return Group(_side(left), _side(right), ())
        self._bars = int(left == r"\{")  # "|" and ":" separate the element from its condition
        inside = self.statements()
        self._bars = 0
        if left in (r"\{", "{") and self.next.text in ("|", r"\mid", ":"):
            self._take()
            condition = self.statements()
            self._close(left)
            return Builder(inside, condition)
        if left == "{" and self._accept(r"\choose"):
            low = self.statements()
            self._close(left)
            return Apply("binom", (inside, low))
        right = self._close(left)
        if left in (r"\lfloor", r"\lceil"):
            return Apply("floor" if left == r"\lfloor" else "ceil", (inside,))
        if isinstance(inside, Group) and inside.left == "":
            return Group(_side(left), _side(right), inside.items, inside.joiner)
        if left == "{" or (left in "([" and left + right in ("()", "[]") and left == "("):
            return inside if left == "{" else Group("(", ")", (inside,))
        return Group(_side(left), _side(right), (inside,))

    def _close(self, left: str) -> str:
        if self.next.text not in _CLOSERS[left]:
            raise Unreadable(f"{left!r} is not closed before {self.next.text!r:.20}")
        return self._take().text

    # ---- functions ---------------------------------------------------------------------------

    def _function(self, name: str) -> Term:
        power: Term | None = None
        base: Term | None = None
        while self.next.kind == "sign" and self.next.text in ("^", "_"):
            if self._take().text == "_":
                base = self._nested(self._group_or_word)
            elif not self._is_inverse():
                power = self._nested(self._exponent)
            else:
                name = name if name.startswith("arc") else "arc" + name
        argument = self._argument(name)
        name = _SAME_FUNCTION.get(name, name)
        args = argument.items if isinstance(argument, Group) and argument.left == "(" else (argument,)
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

    def _group_or_word(self) -> Term:
        return self._group()

    def _argument(self, name: str) -> Term:
        if self.next.text == "{" or (self.next.text == "(" and self.next.kind == "sign"):
            argument = self._nested(self._atom)
            if self.next.text in ("^", "**", "!") and name in ("sqrt", "ln", "log") and False:
                return self._raised(argument)
            return argument
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
        if token.text in _FUNCTIONS or (token.kind == "word" and token.text in FUNCTION_WORDS):
            return False
        if token.kind == "sign":
            return token.text == "{"
        return self._starts_factor(token) and token.text not in _TIMES

    def _application(self, name: str) -> Term:
        self._take()
        argument = self._bracketed("(")
        args = argument.items if isinstance(argument, Group) else (argument,)
        return Apply("call " + name, args)

    # ---- macros with a form of their own -----------------------------------------------------

    def _frac(self) -> Term:
        start = self._at
        if derivative := self._derivative(start):
            return derivative
        top = self._nested(self._group)
        low = self._nested(self._group)
        return Apply("/", (top, low))

    def _derivative(self, start: int) -> Term | None:
        r"""Read `\frac{dy}{dx}` and its kin as one symbol."""
        if self.next.text != "{":
            return None
        first = self._peek().text
        if not (first == r"\partial" or re.fullmatch(r"d[A-Za-z]?", first)):
            return None
        top = self._braced_text()
        if self.next.text != "{" or not re.fullmatch(r"\{?(?:d|\\partial).*", self._peek().text):
            self._at = start
            return None
        low = self._braced_text()
        return Symbol(f"{top}/{low}")

    def _sqrt(self) -> Term:
        degree: Term | None = None
        if self._accept("["):
            degree = self._nested(self._sum)
            self._expect("]")
        radicand = self._nested(self._group)
        return Apply("sqrt", (radicand,) if degree is None else (radicand, degree))

    def _binom(self) -> Term:
        return Apply("binom", (self._nested(self._group), self._nested(self._group)))

    def _overline(self) -> Term:
        return Symbol(f"overline {self._braced_text()}")

    def _accent(self) -> Term:
        inner = self._braced_text()
        return self._named(f"dot {inner}")

    def _angle(self) -> Term:
        name = self._take().text
        return Symbol(f"angle {name}")

    def _blackboard(self) -> Term:
        letter = self._braced_text()
        name = "\\" + _BLACKBOARD.get(letter, letter)
        while self.next.text in ("^", "_"):
            self._take()
            name += self._braced_text()
        return Symbol(name)

    def _big(self, head: str) -> Term:
        r"""Read `\sum_{k=1}^{n} body`, `\prod` or `\int_a^b f dx`."""
        low: Term = Symbol("")
        high: Term = Symbol("")
        while self.next.text in ("^", "_"):
            if self._take().text == "_":
                low = self._nested(self._group)
            else:
                high = self._nested(self._exponent)
        if head == "int":
            body = self._integrand()
        else:
            body = self._product()
        return Apply(head, (body, low, high))

    def _integrand(self) -> Term:
        """Read up to the differential; it stays as the factor that names the variable."""
        return self._sum()

    def _lim(self) -> Term:
        condition: Term = Symbol("")
        if self._accept("_"):
            condition = self._nested(self._group)
        return Apply("lim", (self._product(), condition))

    def _begin(self) -> Term:
        style = self._braced_text()
        if style == "array" and self.next.text == "{":
            self._braced_text()
        rows: list[tuple[Term, ...]] = []
        row: list[Term] = []
        while True:
            if self._accept(r"\end"):
                self._braced_text()
                break
            if self._accept("&"):
                continue
            if self._accept(r"\\", r"\hline", r"\cr"):
                if row:
                    rows.append(tuple(row))
                row = []
                continue
            row.append(self._nested(self.statements))
            if self.next.text not in ("&", r"\\", r"\end", r"\cr"):
                raise Unreadable(f"{self.next.text!r:.20} in a matrix")
        if row:
            rows.append(tuple(row))
        if style in ("cases", "aligned", "align", "align*", "gathered"):
            return Group("", "", tuple(cell for r in rows for cell in r), "and")
        if not rows or len({len(r) for r in rows}) != 1:
            raise Unreadable("a matrix with rows of different lengths")
        return Matrix(tuple(rows), style.rstrip("*"))


def _chunked(items: list[Term], outer: list[int]) -> tuple[Term, ...]:
    """Read "1,5; 2,6" as two pairs: where both separators are used, the semicolon is the outer."""
    ends = [*outer, len(items)]
    chunks = [items[a:b] for a, b in zip([0, *outer], ends, strict=True)]
    sizes = {len(chunk) for chunk in chunks}
    if not outer or sizes == {1} or len(sizes) > 1:
        return tuple(items)
    return tuple(Group("(", ")", tuple(chunk)) for chunk in chunks)


def _side(bracket: str) -> str:
    return {r"\{": "{", r"\}": "}", r"\langle": "<", r"\rangle": ">"}.get(bracket, bracket)


def _based(digits: str, radix: int) -> Term:
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


_SPECIAL: dict[str, Callable[[_Parser], Term]] = {
    "frac": _Parser._frac,
    "sqrt": _Parser._sqrt,
    "binom": _Parser._binom,
    "overline": _Parser._overline,
    "bar": _Parser._overline,
    "hat": _Parser._overline,
    "dot": _Parser._accent,
    "ddot": _Parser._accent,
    "angle": _Parser._angle,
    "triangle": _Parser._angle,
    "mathbb": _Parser._blackboard,
    "sum": lambda p: p._big("sum"),
    "prod": lambda p: p._big("prod"),
    "int": lambda p: p._big("int"),
    "lim": _Parser._lim,
    "begin": _Parser._begin,
}
