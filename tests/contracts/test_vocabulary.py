"""One word per thing: the words in the last column of docs/glossary.md are used nowhere."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("schemas", "defenses", "connectors", "pipelines")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs")
# Where a word must stay: names on the wire, in tables and in files of earlier releases, and the
# terms of a paper that are quoted as such.
EARLIER = frozenset(
    {
        "connectors/state_table/database/tables.py",
        "lab/study/record.py",
        "pipelines/settings/loading.py",
    }
)


def forbidden() -> list[str]:
    """The words of the glossary's last column."""
    rows = re.findall(r"^\| \*\*.*\|([^|]*)\|$", glossary(), flags=re.MULTILINE)
    return sorted({word.strip() for row in rows for word in row.split(",") if word.strip()})


def glossary() -> str:
    return (ROOT / "docs" / "glossary.md").read_text()


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(tuple(EARLIER)):
                yield path


def found(text: str) -> set[str]:
    """The forbidden words, or their plurals, that a text has."""
    patterns = (r"\s+".join(map(re.escape, word.split())) for word in forbidden())
    return set(re.findall(rf"\b(?:{'|'.join(patterns)})s?\b", text, re.IGNORECASE))


def test_no_module_and_no_document_uses_another_word() -> None:
    assert {"reporter", "misgeneration", "experiment"} <= set(forbidden())

    def spaced(path: Path) -> str:
        text = re.sub(r"([a-z])([A-Z])", r"\1 \2", path.read_text())
        return text.replace("_", " ")

    assert {str(path): words for path in sources() if (words := found(spaced(path)))} == {}
    files = [
        file
        for name in DOCUMENTS
        for file in sorted((ROOT / name).rglob("*.md") if (ROOT / name).is_dir() else [ROOT / name])
        if file.name not in ("glossary.md", "consuming.md")  # the latter tells of earlier messages
    ]
    assert {str(file): words for file in files if (words := found(file.read_text()))} == {}


def test_words_and_classes_stand_for_one_thing() -> None:
    words = re.findall(r"^\| (\*\*.*?) \|", glossary(), flags=re.MULTILINE)
    names = [name for entry in words for name in re.findall(r"\*\*(.+?)\*\*", entry)]
    assert len(names) == len(set(names))
    homes: dict[str, list[str]] = {}
    for package in ("schemas", "defenses"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes.setdefault(node.name, []).append(path.name)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
