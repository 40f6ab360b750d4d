"""The table and the drawing in docs/architecture.md are what the code imports and does."""

import ast
import re
from pathlib import Path

import pytest

from radarstream.pipelines.round import pipeline

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PARTS = re.findall(r"^\| `([\w/]+)` \|", PAGE, re.MULTILINE)
PACKAGES = ROOT / "radarstream"


def files_of(part: str) -> list[Path]:
    folder = ROOT / part
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def imported(path: Path) -> set[str]:
    """The modules that a file imports, wherever it does."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


def module_of(part: str) -> str:
    return "radarstream." + part.removeprefix("radarstream/").replace("/", ".")


@pytest.mark.parametrize("part", PARTS)
def test_a_part_imports_only_what_stands_below_it(part: str) -> None:
    above = tuple(map(module_of, PARTS[: PARTS.index(part)]))
    files = files_of(part)
    assert all(path.is_file() for path in files)
    used = set().union(*map(imported, files))
    assert [u for u in used for a in above if u == a or u.startswith(f"{a}.")] == []


def test_every_package_has_one_row_and_stands_in_the_drawing() -> None:
    packages = {p.name for p in PACKAGES.iterdir() if p.is_dir() and p.name[0] != "_"}
    parts = {f"pipelines/{p.stem}" for p in (ROOT / "pipelines").iterdir() if p.name[0] != "_"}
    rows = {part.removeprefix("radarstream/") for part in PARTS}
    assert rows == (packages - {"pipelines"}) | parts
    assert len(rows) == len(PARTS)
    (product,) = re.findall(r"PRODUCT  radarstream: ([\w ]+?)  ", PAGE)
    named = {p.name for p in PACKAGES.iterdir() if p.is_dir() and p.name[0] != "_"}
    assert set(product.split()) == named - {"adapters", "lab"}


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_the_drawing_has_the_stages_of_the_round_in_their_order(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    (drawn,) = re.findall(r"ROUND: ([\w >]+) \]", text)
    documented = re.search(r"^ +(withhold [\w >|]+)$", pipeline.__doc__ or "", re.MULTILINE)
    assert drawn == documented[1].replace("|", ">")


def test_every_test_that_a_document_names_is_there() -> None:
    tests = "".join(file.read_text("utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    pages = "".join(file.read_text("utf-8") for file in sorted((ROOT / "docs").glob("*.md")))
    named = set(re.findall(r"`(?:[\w/.]+::)*(test_\w+)`", pages))
    assert {name for name in named if f"def {name}(" not in tests} == set()
