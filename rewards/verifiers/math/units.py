r"""Units of measurement, read from LaTeX or plain text and converted exactly.

Each unit of the table is defined by others, as in `mile = 5280 ft`, so that conversion is exact.
What has no exact ratio to the rest is its own base: a year (of how many days?), a parsec, an atomic
mass unit, each currency. A plural that the table lacks ("apples") is a count of that noun.

Policies, where usage differs: "pounds" are a mass, but agree with £ too; primes are minutes and
seconds of arc; "tons" are short tons, cups and gallons those of the US; words that mean any unit
("units", "square units", "ways") are `GENERIC`, which a caller should treat like no unit; and a
slash divides by all that follows it, so that "W/m^2 K" is "W/(m^2 K)".
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

MAX_CHARS, MAX_TOKENS = 200, 24
"""What is longer is no unit."""

# symbols|words, in the singular|definition, or =dimension for a base|prefixes it takes
_TABLE = """
m|meter metre|=length|fpnμumcdkMGT  g|gram gramme|=mass|fpnμumcdkMGT   s sec|second sec|=time|fpnμum
A|ampere amp|=current|pnμumk        K °K|kelvin|=temperature|nμumk     mol|mole|=amount|fpnμumk
rad|radian|=angle|nμum              bit|bit|=information|kMGT          cd|candela|=luminosity
yr|year yr|=year|kMGT               pc|parsec|=parsec|kMGT             amu Da|amu dalton|=amu|kM
$ USD US$|dollar usd usdollar|=dollar  € EUR|euro eur|=euro               £ GBP|gbp poundsterling|=£
¥ JPY|yen jpy|=yen                  ₹ INR|rupee inr|=rupee             元 RMB CNY|yuan rmb cny|=yuan     |revolution|=#revolution
¢|cent uscent|1/100 $               |pence|1/100 £                     %|percent pct percentage|1/100
min|minute min|60 s                 h hr|hour hr|60 min                |day|24 h
wk|week wk|7 day                    mo|month|1/12 yr                   |decade|10 yr
|century|100 yr                     |millennium|1000 yr                °|degree|1/180 pi rad
'|arcminute arcmin|1/60 °           ''|arcsecond arcsec|1/60 '         mas||1/1000 ''
Å|angstrom ångström|1/10000000000 m  |micron|1/1000000 m                in|inch|254/10000 m
ft|foot ft|12 in                    yd|yard yd|3 ft                    mi|mile mi|5280 ft
|nauticalmile|1852 m                ly|lightyear|9460730472580800 m    |lightsecond|299792458 m
AU au|astronomicalunit|149597870700 m                                  lb|lb|453.59237 g
oz|ounce oz|1/16 lb    |pound|1 lb   |ton shortton|2000 lb                       |tonne metricton|1000 kg
ha|hectare|10000 m^2                |acre|43560 ft^2                   L|liter litre|1 dm^3|fpnμumcdkM
ml dl cl||1/1000 L                  cc|cc|1 cm^3                       gal|gallon gal|231 in^3
qt|quart|1/4 gal                    pt|pint|1/8 gal                    |cup|1/16 gal
floz|fluidounce|1/128 gal           tbsp|tablespoon|1/256 gal          tsp|teaspoon|1/768 gal
N|newton|1 kg m/s^2|fpnμumkMG       Pa|pascal|1 N/m^2|nμumkMGT         hPa|hectopascal|100 Pa
J|joule|1 N m|fpnμumkMGT            W|watt|1 J/s|fpnμumkMGT            C|coulomb|1 A s|fpnμumk
V|volt|1 W/A|pnμumkMG               Ω|ohm|1 V/A|nμumkMG                F|farad|1 C/V|fpnμum
T|tesla|1 V s/m^2|pnμum             |henry|1 V s/A|nμum                |siemens|1 A/V|nμum
Hz|hertz|1 s^-1|mkMGT               Wb|weber|1 V s                     Bq|becquerel|1 s^-1|kMGT
M|molar|1 mol/L|fpnμum              bar|bar|100000 Pa|mk               atm|atmosphere|101325 Pa
torr Torr mmHg|torr|101325/760 Pa   dyn|dyne|1/100000 N                erg|erg|1/10000000 J
cal|calorie|4.184 J|kM              Wh|watthour|3600 J|kMGT            eV|electronvolt|1.602176634e-19 J|mkMGT
|gauss|1/10000 T                    lbf|poundforce|9.80665 lb m/s^2    psi|psi|1 lbf/in^2
mph|mph|1 mi/h                      kph|kph kmph|1 km/h                |knot|1852 m/h
B|byte|8 bit|kMGT                   bps|bps|1 bit/s|kMGT               rpm|rpm|1 revolution/min
°C|celsius centigrade|1 K           °F|fahrenheit|5/9 K                |km|1 km
|kg|1 kg                            |cm|1 cm                           |kwh|1 kWh
"""  # noqa: E501
_PREFIXES = {
    "f": ("femto", -15), "p": ("pico", -12), "n": ("nano", -9), "μ": ("micro", -6),
    "u": ("micro", -6), "m": ("milli", -3), "c": ("centi", -2), "d": ("deci", -1),
    "k": ("kilo", 3), "M": ("mega", 6), "G": ("giga", 9), "T": ("tera", 12),
}  # fmt: skip
_OFFSETS = {"°C": Fraction("273.15"), "°F": Fraction("459.67") * 5 / 9}
_MULTIPLIERS = {"hundred": 100, "thousand": 1000, "dozen": 12} | {
    name: 1000**power for power, name in enumerate(("million", "billion", "trillion"), 2)
}
_words = str.split
_ANY_UNIT = _words("""unit way time combination permutation arrangement possibility outcome option
    choice item object thing total altogether each apiece""")
_AFTERTHOUGHTS = _words("long tall wide high deep old apart away total altogether each")
# A noun in the singular may be an adverb or a verdict ("5 maybe", "2 wrong"): only these are known.
_SINGULAR = _words("""apple ball book box boy bushel car card cat child coin cookie cow cube dog egg
    game girl house kid letter man marble orange page pair pen pencil person piece player point row
    seat side solution student table team ticket tile toy tree triangle win woman word""")
_IRREGULAR = {
    "feet": "foot", "people": "person", "children": "child", "men": "man", "women": "woman",
    "mice": "mouse", "dice": "die", "loaves": "loaf", "buses": "bus", "vertices": "vertex",
}  # fmt: skip
# "2 or more" and "3 sins" are not two of the unit "or more" and three of the unit "sin".
_NEVER = frozenset(_MULTIPLIERS) | frozenset(
    _words("""about above across after all almost alpha always and another answer any approx around
    because before below beside beta between both but check correct cos cosh cot csc delta doe does
    either else error every except exist exp fail false few fewer for from gamma give guess half has
    have impossible incorrect infinite infinity into its lambda least les less like log make many
    max maybe mean minus mod more most neither never none nor not omega once one only otherwise over
    perhap phi plu plus possible right say seem sigma sin sinh solve sometime sqrt such sure tan
    tanh than that the them there these theta they this those through true twice uncertain under
    undefined unknown unless until upon very was were what when whether which while with without
    work wrong yes yet""")
    # numbers, parts and operations are no things to count
    + _words("""one two three four five six seven eight nine ten eleven twelve twenty score half
    third quarter fourth fifth sixth seventh eighth ninth tenth twentieth hundredth
    thousandth millionth power root square cube inverse reciprocal opposite negative
    multiple remainder factorial cosine sine tangent logarithm zero alternative lie
    mille minuse""")
)
_VOWELS = frozenset("aeiouy")
_JOINTS = frozenset(["/", "per", "a", "an", "of", "*"])
_POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}

_SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_ASCII = str.maketrans("·×⋅′’−–", "***''--")
_COMMANDS = {
    "cdot": "*", "times": "*", "mu": "μ", "AA": "Å", "circ": "°", "degree": "°", "prime": "'",
    "Omega": "Ω", "pounds": "£", "euro": "€", "cent": "¢",
}  # fmt: skip
_TEXT = r"\\(?:text(?:rm|bf|it|sf|up|normal)?|[mh]box|math(?:rm|bf|it|sf)|operatorname)"
_Rewrites = list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]]
_LATEX: _Rewrites = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\^\s*\{\s*([-+]?\d)\s*\}", r"^\1"),
        (_TEXT + r"\s*\{([^{}]*)\}", r" \1 "),
        (r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r"(\1)/(\2)"),
        (rf"(?:{_TEXT}(?=\s*{{)|\\(?:left|right|q?quad)(?![a-zA-Z])|\\[,;:!> ]|[][{{}}~\s])+", " "),
        (r"\\([%$])", r"\1"),
        (r"\\([a-zA-Z]+)", lambda match: _COMMANDS.get(match[1], match[0])),
    )
]
_PLAIN: _Rewrites = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\^ *(?=[°'])|(?<=') +(?=')", ""),
        ('"', "''"),
        (r" ?/ ?", "/"),
        (r"(?i)\bin (?:total|all)\b", "total"),
        (r"(?<=μ) +(?=[a-zA-Z])|(?<=[kM]) +(?=Ω)", ""),
        # as a slash divides by all that follows, these parentheses change nothing
        (r"\A ?\(([^()]*)\) ?(?=/|\Z)|(?<=/)\(([^()/]*)\) ?(?=/|\Z)", r" \1\2 "),
        (r"(?<=[a-zA-Z]{2})\.(?= |\Z)", ""),  # "sq. ft.", but not "p.m."
        (r"(?<=[a-zA-Z])-(?=[a-zA-Z])", " "),
        (r"(?<![a-zA-Z])([cmdk]?m|ft|in|yd|mi)([23])(?![\w.])", r"\1^\2"),
        (r"(?:(?i:degrees?)|°) ?((?i:celsius|centigrade|fahrenheit|kelvin)|[CFK])(?![a-zA-Z])",
         lambda match: "°" + match[1][0].upper()),
        (r"(?i)\b(?:light (?:year|second)s?|nautical miles?|fluid ounces?|fl oz|pounds? sterling"
         r"|(?:metric|short) tons?|astronomical units?|us (?:dollar|cent)s?|per cent)\b",
         lambda match: match[0].replace(" ", "")),
    )
]  # fmt: skip
_TOKEN = re.compile(r"US\$|[a-zA-ZμÅΩ]+|°[CFK]?|''|\^ ?[-+]?\d|\S")


class Unit(NamedTuple):
    """A unit as `factor * pi**pi` of its base units, which `dimension` lists with exponents.

    A value in the unit is `value * factor + offset` of the base; the offset is for temperatures. A
    dimension that starts with "#" counts a noun, as in `(("#apple", 1),)`.
    """

    factor: Fraction
    dimension: tuple[tuple[str, int], ...]
    name: str
    offset: Fraction = Fraction(0)
    pi: int = 0


GENERIC = Unit(Fraction(1), (), "unit")
"""What "units", "square units" and "ways" mean: no unit in particular."""


class _NoUnitError(Exception):
    """The text is not a unit."""


def read_unit(text: str) -> Unit | None:
    """Read a whole unit expression, from which the number has been cut; None if it is none."""
    return _read(text) if len(text) <= MAX_CHARS else None


def cut_multiplier(text: str) -> tuple[Fraction, str]:
    """Split "million dollars" into a million and "dollars"; the factor is 1 where there is none."""
    factor, tokens = 1, _tokens(text) if len(text) <= MAX_CHARS else [text]
    while tokens and (multiplier := _MULTIPLIERS.get(tokens[0].lower())):
        factor, tokens = factor * multiplier, tokens[1:]
    return Fraction(factor), text if factor == 1 else " ".join(tokens)


def read_multiplier(text: str) -> Fraction | None:
    """Read a word such as "million" or "dozen" that multiplies the number before it."""
    factor, rest = cut_multiplier(text)
    return None if rest or factor == 1 else factor


def is_unit_symbol(word: str) -> bool:
    """Whether a bare token is a unit's symbol, such as "cm"; case matters."""
    return word in _SYMBOLS


def comparable(a: Unit, b: Unit) -> bool:
    """Whether one converts to the other: the same dimension, give or take what is counted.

    "photons/pulse" and "photons", or "atoms/m" and "1/m", say the same more or less fully, but "km"
    and "km/apple" do not, nor do "apples" and "oranges". A radian is a pure number, as in rad/s =
    1/s; a degree is not.
    """
    if {a.name, b.name} == {"pound", "£"}:
        return True
    ignored = "" if a.pi or b.pi else "angle"
    counts = [{part for part in unit.dimension if part[0][0] == "#"} for unit in (a, b)]
    measures = [
        {part for part in unit.dimension if part[0][0] != "#" and part[0] != ignored}
        for unit in (a, b)
    ]
    if any(exponent < 0 for _, exponent in counts[1] - counts[0]):
        return False  # 5 km are not 5 km an apple
    return measures[0] == measures[1] and (counts[0] <= counts[1] or counts[1] <= counts[0])


def convert(value: Fraction, source: Unit, target: Unit) -> Fraction | None:
    """Express a value in another unit, or return None where no rational factor does."""
    if not comparable(source, target) or source.pi != target.pi:
        return None
    if {source.name, target.name} == {"pound", "£"}:
        return value
    return (value * source.factor + source.offset - target.offset) / target.factor


@lru_cache(maxsize=4096)
def _read(text: str) -> Unit | None:
    try:
        unit = _product(_tokens(text))
    except _NoUnitError:
        return None
    return GENERIC if unit[:2] == GENERIC[:2] and not unit.pi else unit


def _tokens(text: str) -> list[str]:
    if text.count("{") != text.count("}"):
        return []
    if not text.isascii():
        text = _SUPERSCRIPT.sub(r"^\g<0>", text).translate(_ASCII)
        text = unicodedata.normalize("NFKC", text).translate(_ASCII)
    text = " ".join(text.split())
    latex = "\\" in text or "{" in text or "~" in text or "[" in text
    for pattern, replacement in (*_LATEX, *_PLAIN) if latex else _PLAIN:
        text = pattern.sub(replacement, text)
    return _TOKEN.findall(text)


def _product(tokens: list[str]) -> Unit:
    factors = list(_factors(tokens))
    if len(factors) == 1 and factors[0][1] == 1:
        return factors[0][0]
    factor, pi, dimension = Fraction(1), 0, Counter[str]()
    for unit, exponent in factors:
        factor *= unit.factor**exponent
        pi += unit.pi * exponent
        dimension.update({base: power * exponent for base, power in unit.dimension})
    name = " ".join(u.name if e == 1 else f"{u.name}^{e}" for u, e in factors)
    return Unit(factor, tuple(sorted(d for d in dimension.items() if d[1])), name, pi=pi)


def _factors(tokens: list[str]) -> Iterator[tuple[Unit, int]]:
    """Yield each unit with its exponent, which is negative after a slash."""
    rest = tokens[::-1] if len(tokens) <= MAX_TOKENS else []
    sign, complete, announced = 1, False, False
    while rest:
        token = rest.pop()
        if token in _JOINTS:
            if not complete and (token not in ("/", "per") or len(rest) + 1 < len(tokens)):
                raise _NoUnitError
            sign = sign if token in ("*", "of") else -1
            complete, announced = False, token != "*"  # what follows "per" or "of" is a noun
        elif not (complete and token in _AFTERTHOUGHTS):
            unit, exponent = _factor(token, rest, announced)
            if exponent < 0 and sign < 0:
                raise _NoUnitError  # "J / s m^{-2}" may mean either
            yield unit, sign * exponent
            complete, announced = True, False
    if not complete:
        raise _NoUnitError


def _factor(token: str, rest: list[str], announced: bool) -> tuple[Unit, int]:
    exponent = 1
    if token in _POWERS and rest:
        exponent, token = _POWERS[token], rest.pop()
    after = rest[-1] if rest else ""
    if token == "in" and after.isalpha() and after not in ("per", "squared", "cubed"):
        raise _NoUnitError  # the preposition
    unit = _unit(token, announced or (after.isalpha() and _singular(after) != after))
    if len(after) > 1 and after[0] == "^":
        exponent *= int(rest.pop()[1:])
    elif after in ("squared", "cubed"):
        exponent *= _POWERS[rest.pop()]
    return unit, exponent


def _unit(token: str, announced: bool) -> Unit:
    word = token.lower()
    if unit := _SYMBOLS.get(token) or _WORDS.get(word) or _WORDS.get(_singular(word)):
        return unit
    noun = _singular(word)
    if noun in _ANY_UNIT:
        return GENERIC
    known = announced or noun in _SINGULAR or noun != word
    like_a_noun = re.fullmatch("[A-Za-z][a-z]{2,}", token) and not _VOWELS.isdisjoint(word)
    if not (known and like_a_noun) or word in _NEVER or noun in _NEVER or word.endswith("ly"):
        raise _NoUnitError
    return Unit(Fraction(1), (("#" + noun, 1),), noun)


def _singular(word: str) -> str:
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if word.endswith(("xe", "che", "she", "sse", "zze")):
        word = word[:-1]
    return word[:-2] + "y" if word.endswith("ie") else _IRREGULAR.get(word, word)


_SYMBOLS: dict[str, Unit] = {}
_WORDS: dict[str, Unit] = {}


def _define(symbols: str, words: str, definition: str, prefixes: str = "") -> None:
    name = (symbols or words).split()[0]
    if definition.startswith("="):
        unit = Unit(Fraction(1), ((definition[1:], 1),), name)
    else:
        number, _, rest = definition.replace(" pi ", " ").partition(" ")
        base = _product(_TOKEN.findall(rest)) if rest else GENERIC
        factor, pi = Fraction(number) * base.factor, base.pi + (" pi " in definition)
        unit = Unit(factor, base.dimension, name, _OFFSETS.get(name, Fraction(0)), pi)
    _SYMBOLS.update(dict.fromkeys(symbols.split(), unit))
    _WORDS.update(dict.fromkeys(words.split(), unit))
    for letter in prefixes:
        prefix, power = _PREFIXES[letter]
        scaled = unit._replace(
            factor=unit.factor * Fraction(10) ** power,
            name=letter + name if symbols else prefix + name,
        )
        for symbol in symbols.split():
            _SYMBOLS.setdefault(letter + symbol, scaled)
        for word in words.split():
            _WORDS.setdefault(prefix + word, scaled)


for _entry in re.split(r"\s{2,}|\n", _TABLE.strip()):
    _define(*_entry.split("|"))
