"""What our documents and deployment files tell a reader to type can be typed."""

import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from tests.documented_commands import (
    DOCUMENTS,
    PROGRAM,
    ROOT,
    Printed,
    check_command,
    printed_commands,
)

COMMANDS = printed_commands()
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def named(printed: Printed) -> str:
    return f"{printed.place}: {' '.join(printed.words)}"


def of(tool: str) -> list[Printed]:
    return [printed for printed in COMMANDS if printed.words[0] == tool]


@pytest.mark.parametrize("printed", of(PROGRAM), ids=named)
def test_every_command_of_ours_exists_with_its_options(printed: Printed) -> None:
    check_command(list(printed.words[1:]))


@pytest.mark.parametrize("printed", of("make"), ids=named)
def test_every_target_exists(printed: Printed) -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    words = [w for w in printed.words[1:] if "=" not in w and not w.startswith("-")]
    assert set(words) <= targets


@pytest.mark.parametrize("printed", of("python"), ids=named)
def test_every_module_exists(printed: Printed) -> None:
    if printed.words[1] == "-m":
        assert find_spec(printed.words[2])
    else:
        assert printed.words[1] in {"consumer.py"} or (ROOT / printed.words[1]).is_file()


@pytest.mark.parametrize("printed", of("sh"), ids=named)
def test_every_script_exists(printed: Printed) -> None:
    script = Path(printed.words[1])
    found = [ROOT / script] if script.parent.name else list((ROOT / "infra").rglob(script.name))
    assert [os.access(place, os.X_OK) for place in found] == [True]


@pytest.mark.parametrize("printed", [*of("docker"), *of("kubectl")], ids=named)
def test_every_file_profile_and_service_exists(printed: Printed) -> None:
    words = printed.words
    pairs = list(zip(words, words[1:], strict=False))
    files = [Path(after) for word, after in pairs if word in {"--file", "--kustomize"}]
    assert all((ROOT / file).exists() for file in files)
    if words[:2] != ("docker", "compose"):
        return
    services = yaml.safe_load((ROOT / files[0]).read_text("utf-8"))["services"]
    profiles = {p for service in services.values() for p in service.get("profiles", [])}
    assert {after for word, after in pairs if word == "--profile"} <= profiles
    if "exec" in words or "run" in words:
        verb = "exec" if "exec" in words else "run"
        names = [word for word in words[words.index(verb) + 1 :] if not word.startswith("-")]
        assert names[0] in services


def test_the_commands_are_found() -> None:
    """A reader that overlooks commands would make the tests above pass."""
    places = {printed.place for printed in of(PROGRAM)}
    assert len(of(PROGRAM)) > 100
    assert {"README.md", "docs/deployment.md", "docs/consuming.md", "docs/incidents.md"} <= places
    assert {"infra/settings/production.toml", "infra/settings/watchlist.yaml"} <= places
    partitions = ("radarstream", "run", "--group")
    assert any(printed.words == partitions for printed in COMMANDS)


@pytest.mark.parametrize(
    "wrong",
    ["rum --config prod.toml", "run --partition 0", "run --profile embeded", "run --config",
     "run prod.toml", "deadletter shows 3f2a", "submit --parallelism 0", "complain --sender ada"],
)  # fmt: skip
def test_a_wrong_command_is_noticed(wrong: str) -> None:
    with pytest.raises(AssertionError):
        check_command(wrong.split())


def test_every_module_and_test_that_a_document_names_exists() -> None:
    folders = "tests|lab|pipelines|connectors|defenses|schemas|radarstream"
    module = re.compile(rf"`((?:{folders})/[\w/]+\.py)((?:::\w+)*)`")
    cited = [(d.name, *found) for d in DOCUMENTS for found in module.findall(d.read_text("utf-8"))]
    assert {"SECURITY.md", "incidents.md"} <= {document for document, *_ in cited}
    missing = [
        (document, file, name)
        for document, file, names in cited
        for name in ("", *names.split("::")[1:])
        if "your_" not in file and not holds(ROOT / file, name)
    ]
    assert not missing


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=lambda d: d.name)
def test_every_link_leads_to_a_file_and_a_heading_of_it(document: Path) -> None:
    """Links to files, and to headings by the names that hosts of repositories give them."""
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", document.read_text("utf-8"))
    for path, heading in links:
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), path
        assert not heading or heading in anchors(target), f"{path}#{heading}"


def anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", document.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = [p.name for p in DOCUMENTS if p.parent == ROOT / "docs"]
    assert [name for name in pages if f"({name})" not in index] == ["README.md"]


def holds(file: Path, name: str) -> bool:
    """Whether a file exists and defines a name, if one is given."""
    if not file.is_file():
        return False
    return not name or bool(re.search(rf"(?:def|class) {name}\b", file.read_text("utf-8")))
