"""Units of measure and money: what each measures, and how many of its base unit it is."""

from typing import Final, NamedTuple


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
    "; 1609.344 mile; 1852 nautical mile; .3048 foot|feet|ft; .0254 inch|inche; .9144 yard"
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
    "C": Unit("temperature"), "F": NAMED["fahrenheit"], "K": NAMED["kelvin"],
}  # fmt: skip


def unit_named(text: str) -> Unit:
    """The unit of that name, in the singular or as written; without dimension if there is none."""
    lowered = " ".join(text.casefold().split())
    return (
        LETTERS.get(text) or NAMED.get(lowered) or NAMED.get(lowered.removesuffix("s")) or NO_UNIT
    )
