r"""Read an answer as mathematics: LaTeX, plain text and what models mix of both.

A recursive-descent parser over `tokens`. It never evaluates anything and takes linear time; what it
does not understand raises `Unreadable`. Conventions where notation is ambiguous:

- `2\frac{3}{5}` and `2 3/5` are mixed numbers; any other juxtaposition is a product.
- `\sin 2x` ends at the next sign or function, `\sin(x) y` at the bracket.
- `f(x)`, `g(x)`, `h(x)`, `F(x)`, `P(x)`... apply a function; `a(x)` is a product.
- Letters behind a number that name a unit are that unit when a space stands before them.
"""

from __future__ import annotations

from fractions import Fraction

from rewards.verifiers.math.atoms import based
from rewards.verifiers.math.dialects import rewritten
from rewards.verifiers.math.measures import Measures
from rewards.verifiers.math.terms import (
    Apply,
    Group,
    Measured,
    Number,
    Relation,
    Symbol,
    Term,
    Unreadable,
)
from rewards.verifiers.math.tokens import Token, tokenize
from rewards.verifiers.math.vocabulary import (
    ALL_CLOSERS,
    AND,
    CLAUSES,
    CURRENCIES,
    OR,
    OVER,
    RELATIONS,
    SEPARATORS,
    SET_OPERATIONS,
    SUMS,
    TIMES,
)
from rewards.verifiers.math.words import read_number_words

_MOD = frozenset([r"\mod", "mod"])
_NO_FACTORS = AND | OR | _MOD


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
    if parser.next.text in (r"\over", r"\choose"):
        term = parser._infix(term)
    if parser.next.kind != "end":
        raise Unreadable(f"{parser.next.text!r:.20} was not expected")
    return term


class _Parser(Measures):
    # ---- statements --------------------------------------------------------------------------

    def statements(self) -> Term:
        """Read statements up to a closing bracket or the end."""
        items, joiner = [self._relation()], ""
        outer: list[int] = []
        while word := self._joiner():
            joiner = word if word not in ",;" else joiner or ","
            if self.next.text in ALL_CLOSERS and self.next.kind != "text":
                if self.next.text not in ("", "&", r"\\", r"\end"):
                    raise Unreadable("a list that ends in a comma")
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
                if word in OR:
                    found = "or"
                elif word in AND:
                    found = found if found == "or" else "and"
                elif token.text.strip() == ";":
                    found = found or ";"
                elif (
                    token.text.strip() in SEPARATORS
                    or (found == "" and token.kind in ("text", "word") and word in CLAUSES)
                    or (token.kind == "text" and word == "")
                ):
                    if found == "," and token.text == ",":
                        raise Unreadable("a list with nothing between two commas")
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
            if operator == "mod":
                raise Unreadable("a congruence without its left side")
            return Relation((operator,), (Symbol(""), self._set_expression()))
        sides.append(self._set_expression())
        while self._relation_sign():
            operators.append(self._take_relation())
            sides.append(self._set_expression())
        if operators == ["mod"] or (not operators and self._at_modulus()):
            sides = sides if operators else [Symbol(""), *sides]
            operators = ["mod", "mod"]
            sides.append(self._modulus())
        return Relation(tuple(operators), tuple(sides)) if operators else sides[0]

    def _at_modulus(self) -> bool:
        return self.next.text == r"\pmod" or (
            self.next.text == "(" and self._peek().text.strip() in _MOD
        )

    def _modulus(self) -> Term:
        if self._accept(r"\pmod"):
            return self._nested(self._group)
        bracket = self._accept("(")
        if self._take().text.strip() not in _MOD:
            raise Unreadable("a congruence without a modulus")
        modulus = self._factor()
        if bracket:
            self._expect(")")
        return modulus

    def _relation_sign(self) -> bool:
        token = self.next
        if token.kind == "macro" and token.text == r"\not":
            return True
        return token.kind in ("sign", "macro") and token.text in RELATIONS

    def _take_relation(self) -> str:
        token = self._take()
        if token.text == r"\not":
            follows = RELATIONS.get(self._take().text, "")
            if follows not in ("=", "in"):
                raise Unreadable(r"\not before an unknown relation")
            return "!=" if follows == "=" else "notin"
        operator = RELATIONS[token.text]
        if operator in "<>" and self._accept("="):
            return operator + "="
        return operator

    def _set_expression(self) -> Term:
        term = self._ratio()
        while self.next.kind in ("macro", "word") and (
            self.next.text in SET_OPERATIONS or (self.next.text == "U" and self._at_set())
        ):
            head = SET_OPERATIONS.get(self._take().text, "cup")
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
        first = self._product()
        if head == "-" and isinstance(first, Apply) and first.head == "mod":
            number, modulus = first.args  # "-1 mod 2" is of -1
            terms.append(Apply("mod", (self._signed(head, number), modulus)))
        else:
            terms.append(self._signed(head, first))
        while sign := self._sum_sign():
            terms.append(self._signed(sign, self._product()))
        return Apply("+", tuple(terms)) if len(terms) > 1 else terms[0]

    def _sum_sign(self) -> str:
        if self.next.kind in ("sign", "macro") and (sign := SUMS.get(self.next.text)):
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
            if token.kind in ("sign", "macro") and token.text in TIMES:
                self._take()
                terms.append(self._factor())
            elif token.kind in ("sign", "macro") and token.text in OVER:
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
            return token.text not in _NO_FACTORS and token.text != "U"
        if token.kind == "macro":
            return not (
                token.text in RELATIONS
                or token.text in SET_OPERATIONS
                or token.text in SUMS
                or token.text in ALL_CLOSERS
                or token.text in (r"\not", r"\land", r"\lor", r"\mid", r"\end", r"\mod", r"\pmod")
                or token.text in (r"\text", r"\quad", r"\choose")
            )
        if token.kind == "sign":
            if token.text == "|":
                return not self._bars
            if token.text == "(" and self._peek().text.strip() in _MOD:
                return False
            if token.text == "[" and self._peek().text in ("", r"\cup", r"\cap", ",", ")", "]"):
                return False  # the end of ]0, 1[
            return token.text in ("(", "[", "{", r"\{", r"\|", *CURRENCIES)
        return False

    def _factor(self) -> Term:
        if self.next.kind in ("sign", "macro") and (sign := SUMS.get(self.next.text)):
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

    def _exponent(self) -> Term:
        if self.next.text == "{":
            return self._group()
        self._cut_word()
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
        return based(str(inner.value), int(radix[:4]))

    def _radix(self) -> str:
        r"""Take the base in `312_5`, `312_{\\text{five}}` or `312_{\\text{base }5}`."""
        text = self._subscript().removeprefix("base").strip()
        number = None if text.isdigit() else read_number_words(text)
        return text if number is None else str(number)


def _chunked(items: list[Term], outer: list[int]) -> tuple[Term, ...]:
    """Read "1,5; 2,6" as two pairs: where both separators are used, the semicolon is the outer."""
    ends = [*outer, len(items)]
    chunks = [items[a:b] for a, b in zip([0, *outer], ends, strict=True)]
    sizes = {len(chunk) for chunk in chunks}
    if not outer or sizes == {1} or len(sizes) > 1:
        return tuple(items)
    return tuple(Group("(", ")", tuple(chunk)) for chunk in chunks)
