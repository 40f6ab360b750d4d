"""Units of measure and money; numbers, dates and times of day as values that can be compared."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, NamedTuple

ROUGH_TOLERANCE = 0.015  # "about 3.7 million" and "3.72 million" are one claim
EXACT_TOLERANCE = 1e-4  # absorbs the decimals of one third
BOUND_MARKS = "<\u2264\u2265>"
_SIDE = {"": 0, "<": -1, "\u2264": -1, "\u2265": 1, ">": 1}  # of a number, where the value is
_KILOGRAMS = 0.45359237  # in a pound that is not money


class Unit(NamedTuple):
    """A number with this unit is `(number - zero) * factor` base units of the dimension.

    A currency is a dimension in capitals: nothing converts between two of them.
    """

    dimension: str
    factor: float = 1.0
    zero: float = 0.0


NO_UNIT: Final = Unit("")
CURRENCY_SIGNS: Final = {
    "$": "USD", "\u00a3": "GBP", "\u20ac": "EUR", "\u00a5": "JPY", "\u20b9": "INR",
    "\u20a9": "KRW", "\u20bd": "RUB", "\u20ba": "TRY", "\u20aa": "ILS", "\u20bf": "BTC",
}  # fmt: skip
SPEEDS: Final = {"mph": 0.44704, "kph": 1 / 3.6, "knot": 0.514444, "knots": 0.514444}
_CODES = "USD GBP EUR JPY INR KRW RUB TRY ILS BTC CHF CNY CAD AUD NZD SEK NOK DKK PLN ZAR BRL MXN"
CURRENCY_CODES: Final = tuple(_CODES.split())
# Names in the singular, whatever their case, by how many base units they are.
_NAMES: Final = {
    "percent": "1 percent|per cent|pct|%; .1 per mille|\u2030",
    "percentage points": "1 percentage point; .01 basis point|bps",
    "time": "1 second|sec; .001 millisecond|ms; 60 minute|min; 3600 hour|hr; 86400 day"
    "; 604800 week; 2629800 month; 31557600 year|yr",
    "length": "1 metre|meter; .001 millimetre|millimeter|mm; .01 centimetre|centimeter|cm"
    "; 1000 kilometre|kilometer|km; 1e-6 micrometre|micrometer|\u03bcm; 1e-9 nanometre|nanometer|nm"
    "; 1609.344 mile|mi; 1852 nautical mile; .3048 foot|feet|ft; .0254 inch|inche; .9144 yard"
    "; 9.4607e15 light year|light-year; 3.0857e16 parsec",
    "mass": "1 kilogram|kilo|kg; .001 gram|gramme|gm; 1e-6 milligram|mg; 1e-9 microgram|mcg|\u03bcg"
    "|ug; 1e-12 nanogram|ng; 1e-15 picogram|pg; 1000 tonne|metric ton; 907.18474 ton"
    "; .0283495 ounce|oz; .45359237 lb; 6.35029 stone",
    "pound": "1 pound",
    "volume": "1 litre|liter|l; .001 millilitre|milliliter|ml|cc; .01 centilitre|centiliter|cl"
    "; .1 decilitre|deciliter|dl; 1e-6 microlitre|microliter|\u03bcl|ul; 3.785412 gallon"
    "; .473176 pint; .0295735 fluid ounce|fl oz; 158.987 barrel; .004929 teaspoon|tsp"
    "; .014787 tablespoon|tbsp; 1000 cubic metre|cubic meter|m3",
    "area": "1 square metre|square meter|sq m|m2; 1e6 square kilometre|square kilometer|sq km|km2"
    "; 1e4 hectare|ha; 4046.856 acre; 2589988.1 square mile|sq mi; .092903 square feet|sq ft",
    "temperature": "1 celsius|centigrade",
    "power": "1 watt; 1e3 kilowatt|kw; 1e6 megawatt; 1e9 gigawatt|gw; 745.7 horsepower|hp",
    "energy": "1 joule; 1e3 kilojoule|kj; 3.6e6 kilowatt hour|kilowatt-hour|kwh"
    "; 3.6e9 megawatt hour|megawatt-hour|mwh; 3.6e12 gwh; 3.6e15 twh"
    "; 4184 kilocalorie|calorie|kcal",
    "data": "1 byte; 1e3 kilobyte|kb; 1e6 megabyte|mb; 1e9 gigabyte|gb; 1e12 terabyte|tb"
    "; 1e15 petabyte|pb",
    "frequency": "1 hertz|hz; 1e3 kilohertz|khz; 1e6 megahertz|mhz; 1e9 gigahertz|ghz",
    "voltage": "1 volt; 1e3 kilovolt|kv",
    "degrees": "1 degree|\u00b0",
    "international units": "1 international unit|unit|iu",
    "amount of substance": "1 mole|mol; .001 millimole|mmol; 1e-6 micromole|\u03bcmol|umol",
    "equivalents": "1 milliequivalent|meq",
    "pressure": "1 pascal; 100 hectopascal|hpa|millibar|mbar; 1e3 kilopascal|kpa; 1e5 bar"
    "; 1e6 megapascal|mpa; 6894.757 psi; 101325 atmosphere|atm; 133.322 mmhg",
    "bit rate": "1e3 kbps|kbit; 1e6 mbps|mbit; 1e9 gbps|gbit; 1e12 tbps|tbit",
    "tablets": "1 tablet|pill|capsule",
    "USD": "1 dollar|us dollar; .01 cent",
    "GBP": "1 pound sterling; .01 penny|pence",
    "EUR": "1 euro",
    "JPY": "1 yen",
    "INR": "1 rupee",
    "CNY": "1 yuan|renminbi",
    "CHF": "1 swiss franc",
    "RUB": "1 rouble|ruble",
    "MXN": "1 peso",
    "CAD": "1 canadian dollar",
    "AUD": "1 australian dollar",
}
NAMED: Final = {
    name: Unit(dimension, float(group.split(maxsplit=1)[0]))
    for dimension, groups in _NAMES.items()
    for group in groups.split("; ")
    for name in group.split(maxsplit=1)[1].split("|")
} | {code.lower(): Unit(code) for code in CURRENCY_CODES} | {
    **{name: Unit("length", factor) for name, factor in SPEEDS.items()},
    "fahrenheit": Unit("temperature", 5 / 9, 32.0),
    "kelvin": Unit("temperature", 1.0, 273.15),
}  # fmt: skip
# Of these the case decides: "mW" and "MW", "g" and the "G" of "5G".
LETTERS: Final = {
    "g": Unit("mass", 0.001), "t": Unit("mass", 1000.0), "m": Unit("length"),
    "h": Unit("time", 3600.0), "V": Unit("voltage"), "mV": Unit("voltage", 0.001),
    "W": Unit("power"), "mW": Unit("power", 0.001), "MW": Unit("power", 1e6),
    "Kb": Unit("data", 125.0), "Mb": Unit("data", 1.25e5), "Gb": Unit("data", 1.25e8),
    "C": Unit("temperature"), "F": NAMED["fahrenheit"], "K": NAMED["kelvin"],
}  # fmt: skip


def unit_named(text: str) -> Unit:
    """The unit of that name, in the singular or as written; without dimension if there is none."""
    lowered = " ".join(text.casefold().split())
    return (
        LETTERS.get(text) or NAMED.get(lowered) or NAMED.get(lowered.removesuffix("s")) or NO_UNIT
    )


class Match(Enum):
    """How the values of a premise and a hypothesis relate."""

    SAME = "same"
    PREMISE_FINER = "premise_finer"
    HYPOTHESIS_FINER = "hypothesis_finer"
    PREMISE_DECIDES = "premise_decides"  # what the hypothesis leaves open: a bound, a half of day
    HYPOTHESIS_DECIDES = "hypothesis_decides"
    DIFFERENT = "different"
    COMPATIBLE = "compatible"  # neither confirms nor excludes the other
    INCOMPARABLE = "incomparable"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number. `stated` is in the unit it was written in, `value` in the base of `dimension`.

    `dimension` is "" for a bare count, else "percent", a currency or a physical dimension; `per` is
    the unit that a rate is per ("a day"). `bound` is a mark such as "<", or "" for the number
    itself; `rough` tells that it was said to be about so much.
    """

    stated: float
    value: float
    dimension: str = ""
    rough: bool = False
    bound: str = ""
    per: Unit = NO_UNIT

    def compare(self, other: "Quantity") -> Match:
        """Relate two numbers; a missing unit agrees with any unit, a missing "per" with any."""
        one, two = self._in_kind_of(other), other._in_kind_of(self)
        mine, theirs = one.value, two.value
        inexact = self.rough or other.rough or self.bound or other.bound
        tolerance = ROUGH_TOLERANCE if inexact else EXACT_TOLERANCE
        if one.dimension != two.dimension:
            mine, theirs = one.stated, two.stated
            if one.dimension and two.dimension:
                return Match.DIFFERENT
            if one.dimension == "percent" and close(mine, 100.0 * theirs, tolerance):
                theirs *= 100.0
            elif two.dimension == "percent" and close(100.0 * mine, theirs, tolerance):
                mine *= 100.0
        if one.per.dimension == two.per.dimension:
            mine, theirs = mine / one.per.factor, theirs / two.per.factor
        elif one.per.dimension and two.per.dimension:
            return Match.DIFFERENT
        if not close(mine, theirs, tolerance):
            return Match.DIFFERENT
        return self._compare_bounds(other, mine, theirs)

    def _in_kind_of(self, other: "Quantity") -> "Quantity":
        """A pound is money unless the other is a weight; degrees may be of any scale."""
        if self.dimension == "degrees" and other.dimension == "temperature":
            return replace(self, dimension="")
        if self.dimension != "pound":
            return self
        if other.dimension == "mass":
            return replace(self, value=self.value * _KILOGRAMS, dimension="mass")
        return replace(self, dimension="GBP")

    def _compare_bounds(self, other: "Quantity", mine: float, theirs: float) -> Match:
        if _SIDE[self.bound] == _SIDE[other.bound]:
            return Match.SAME
        if self.bound and other.bound:
            return Match.DIFFERENT
        number, limit = (theirs, mine) if self.bound else (mine, theirs)
        side = _SIDE[self.bound or other.bound]
        inclusive = (self.bound or other.bound) in "\u2264\u2265"
        if self.rough or other.rough:
            return Match.COMPATIBLE
        if not (side * number > side * limit or (inclusive and number == limit)):
            return Match.DIFFERENT
        return Match.HYPOTHESIS_DECIDES if self.bound else Match.PREMISE_DECIDES


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A calendar date of which some parts may be missing. `aside` marks "... in 1961"."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    aside: bool = False
    bound: str = ""

    def compare(self, other: "PartialDate") -> Match:
        """Relate two dates: any part given twice must agree."""
        if _SIDE[self.bound] != _SIDE[other.bound]:
            return Match.DIFFERENT
        mine = (self.year, self.month, self.day)
        theirs = (other.year, other.month, other.day)
        both = [(a, b) for a, b in zip(mine, theirs, strict=True) if a is not None is not b]
        if any(a != b for a, b in both):
            return Match.DIFFERENT
        if not both:
            return Match.COMPATIBLE
        extra_mine = sum(part is not None for part in mine) - len(both)
        extra_theirs = sum(part is not None for part in theirs) - len(both)
        if extra_mine and extra_theirs:
            return Match.COMPATIBLE
        if extra_mine:
            return Match.PREMISE_FINER
        return Match.HYPOTHESIS_FINER if extra_theirs else Match.SAME


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of day in minutes; `half_known` is false for "9:30", which may be in the evening."""

    minute: int
    half_known: bool = True
    bound: str = ""

    def compare(self, other: "ClockTime") -> Match:
        """Relate two times; one without its half of the day leaves that open."""
        both = self.half_known and other.half_known
        apart = (self.minute - other.minute) % (1440 if both else 720)
        if apart or _SIDE[self.bound] != _SIDE[other.bound]:
            return Match.DIFFERENT
        if self.half_known == other.half_known:
            return Match.SAME
        return Match.PREMISE_DECIDES if self.half_known else Match.HYPOTHESIS_DECIDES


Value = Quantity | PartialDate | ClockTime


def compare_values(premise: tuple[Value, ...], hypothesis: tuple[Value, ...]) -> Match:
    """Relate two answers by all the values they state.

    A value that meets comparable ones but never an equal one is a disagreement if that happens on
    both sides, whatever else agrees ("15% of 2,005 adults" against "32% of 2,005 adults").
    """
    table = [[compare_value(p, h) for h in hypothesis] for p in premise]
    rows = [_best(row) for row in table]
    columns = [_best([row[j] for row in table]) for j in range(len(hypothesis))]
    agreeing = {match for match in rows if match in _AGREEING}
    if not agreeing:
        return _best(rows)
    if Match.DIFFERENT in rows and Match.DIFFERENT in columns:
        return Match.DIFFERENT
    extra_premise = any(match not in _AGREEING for match in rows)
    extra_hypothesis = any(match not in _AGREEING for match in columns)
    if deciding := agreeing & {Match.PREMISE_DECIDES, Match.HYPOTHESIS_DECIDES}:
        other_adds = extra_hypothesis if Match.PREMISE_DECIDES in deciding else extra_premise
        return Match.COMPATIBLE if other_adds or len(deciding) > 1 else deciding.pop()
    if extra_premise != extra_hypothesis:
        return Match.PREMISE_FINER if extra_premise else Match.HYPOTHESIS_FINER
    finer = agreeing - {Match.SAME}
    return finer.pop() if len(finer) == 1 else Match.SAME


_FINER = (Match.PREMISE_FINER, Match.HYPOTHESIS_FINER)
_AGREEING = (Match.SAME, *_FINER, Match.PREMISE_DECIDES, Match.HYPOTHESIS_DECIDES)
_PREFERENCE = (*_AGREEING, Match.COMPATIBLE, Match.DIFFERENT, Match.INCOMPARABLE)


def _best(matches: list[Match]) -> Match:
    return min(matches, key=_PREFERENCE.index, default=Match.INCOMPARABLE)


def compare_value(premise: Value, hypothesis: Value) -> Match:
    """Relate two values; those of two types are incomparable."""
    if type(premise) is not type(hypothesis):
        return Match.INCOMPARABLE
    return premise.compare(hypothesis)  # type: ignore[arg-type]


def close(a: float, b: float, tolerance: float) -> bool:
    """Whether two numbers agree within a relative tolerance."""
    return abs(a - b) <= tolerance * max(abs(a), abs(b))
