"""The drawing in docs/architecture.md is what the code imports."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
NODES = dict(re.findall(r'(\w+)\["([\w/]+)"\]', PAGE))
ARROWS = set(re.findall(r'(\w+)(?:\["[^"]*"\])? --> (\w+)', PAGE))


def files_of(part: str) -> list[Path]:
    folder = ROOT / part
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def imported(path: Path) -> set[str]:
    """The modules that a file imports, wherever it does, without what only types need."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


def module_of(part: str) -> str:
    return "radarstream." + part.removeprefix("radarstream/").replace("/", ".")


def imports() -> dict[str, set[str]]:
    """Per part of the drawing the parts that it imports itself."""
    modules = {name: module_of(part) for name, part in NODES.items()}
    found: dict[str, set[str]] = {}
    for name, part in NODES.items():
        targets = set().union(*map(imported, files_of(part)))
        found[name] = {
            other
            for other, module in modules.items()
            if other != name and any(t == module or t.startswith(f"{module}.") for t in targets)
        }
    return found


IMPORTS = imports()


@pytest.mark.parametrize("name", NODES)
def test_every_part_of_the_drawing_exists(name: str) -> None:
    assert all(path.is_file() for path in files_of(NODES[name]))


@pytest.mark.parametrize(("above", "below"), sorted(ARROWS))
def test_every_arrow_is_an_import(above: str, below: str) -> None:
    assert below in IMPORTS[above]


def test_every_import_goes_down_along_the_arrows() -> None:
    """What is not drawn follows from what is: an import passes over parts, it never goes up."""

    def reached(name: str) -> set[str]:
        return set().union(*({low} | reached(low) for high, low in ARROWS if high == name), set())

    astray = {n: sorted(IMPORTS[n] - reached(n)) for n in NODES if IMPORTS[n] - reached(n)}
    assert astray == {}


def test_every_package_is_drawn() -> None:
    drawn = set(NODES.values())
    packages = {p.name for p in (ROOT / "radarstream").iterdir() if p.is_dir() and p.name[0] != "_"}
    parts = {f"pipelines/{p.stem}" for p in (ROOT / "pipelines").iterdir() if p.name[0] != "_"}
    assert {name for name in packages if not name.startswith("pipelines")} <= {
        part.removeprefix("radarstream/") for part in drawn
    }
    assert parts <= drawn
