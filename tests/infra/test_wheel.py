"""The wheel adds one package, whole; and the command runs beside files of the same names."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("connectors", "defenses", "lab", "pipelines", "schemas")
BUILD = "import sys; from hatchling.build import build_sdist, build_wheel; build_wheel(sys.argv[1])"
HOSTILE = "raise SystemExit('a file of the working directory was imported')"


def run(*command: str | Path, cwd: Path) -> str:
    found = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel and a source distribution of this tree."""
    place = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-c", f"{BUILD}; build_sdist(sys.argv[1])", place, cwd=ROOT)
    return place


def kept_files() -> set[str]:
    """Every file of the package that is under version control, or would be."""
    listed = run("git", "ls-files", "-co", "--exclude-standard", *FOLDERS, cwd=ROOT)
    return {line for line in listed.splitlines() if (ROOT / line).is_file()}


def test_the_wheel_holds_every_file_once(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    assert len(names) == len(set(names))
    expected = {f"radarstream/{name}" for name in kept_files()} | {"radarstream/__init__.py"}
    own = set(run("git", "ls-files", "radarstream", cwd=ROOT).split())
    expected |= {name for name in own if not (ROOT / name).is_symlink()}
    assert set(names) == expected
    assert "radarstream/py.typed" in names  # so that type checkers read ours
    for ending in (".json", ".html.j2", ".toml", ".mako"):
        if any(name.endswith(ending) for name in kept_files()):
            assert any(name.endswith(ending) for name in names)


def test_the_source_distribution_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    run(sys.executable, "-c", BUILD, tmp_path, cwd=source)
    (wheel,), (again,) = built.glob("*.whl"), tmp_path.glob("*.whl")
    first, second = (zipfile.ZipFile(path) for path in (wheel, again))
    assert sorted(first.namelist()) == sorted(second.namelist())


def test_installed_it_is_one_package_that_no_file_beside_breaks(built, tmp_path) -> None:
    (wheel,) = built.glob("*.whl")
    place, empty = tmp_path / "site", tmp_path / "empty"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    run(*pip, "--no-compile", "--target", place, wheel, cwd=tmp_path)
    installed = {path.name for path in place.iterdir()} - {"bin"}
    assert installed == {"radarstream", f"{wheel.name.split('-py3')[0]}.dist-info"}
    assert [path.name for path in (place / "bin").iterdir()] == ["radarstream"]
    assert not [path for path in place.rglob("*") if path.is_symlink()]
    empty.mkdir()
    for name in (*FOLDERS, "sqlalchemy_schemas"):
        (empty / f"{name}.py").write_text(HOSTILE)
    program = (
        f"import sys; sys.path.insert(0, {str(place)!r}); import radarstream; "
        f"assert radarstream.__file__.startswith({str(place)!r}), radarstream.__file__; "
        "from radarstream.pipelines.cli.app import main; main()"
    )
    # As installed: the working directory is no place to import from. Even where it is one,
    # nothing of the package is named as those files are.
    for options in (["-P"], []):
        told = run(sys.executable, *options, "-c", program, "--version", cwd=empty)
        assert told.strip() == "0.1.0"
    assert "replay" in run(sys.executable, "-c", program, "--help", cwd=empty)
