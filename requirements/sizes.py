"""Measure a lock file: how much it downloads, and how much it is once installed.

`make sizes` runs it; `python requirements/sizes.py NAME` measures another than `demo`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
BIGGEST: Final = 15


def main() -> None:
    """Download and install into a temporary directory, and print megabytes (10^6 bytes)."""
    name = sys.argv[1] if len(sys.argv) > 1 else "demo"
    with tempfile.TemporaryDirectory() as directory:
        wheels, installed = Path(directory) / "wheels", Path(directory) / "installed"
        pip("download", "--dest", str(wheels), *locked(name))
        print(f"{name}: {megabytes(wheels):.0f} MB to download")  # noqa: T201 a program's output
        options = ["--no-compile", "--target", str(installed), "--find-links", str(wheels)]
        pip("install", *options, *locked(name))
        print(f"{name}: {megabytes(installed):.0f} MB on disk, of which")  # noqa: T201
        found = sorted(((megabytes(path), path.name) for path in installed.iterdir()), reverse=True)
        for size, package in found[:BIGGEST]:
            print(f"{size:8.0f} {package}")  # noqa: T201


def locked(name: str) -> list[str]:
    """Options that take a lock file as it is."""
    return ["--no-deps", "--require-hashes", "--only-binary=:all:", f"-r{HERE / name}.txt"]


def pip(*arguments: str) -> None:
    """Run pip of this interpreter."""
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *arguments], check=True)


def megabytes(place: Path) -> float:
    """Size of a file, or of all files of a directory."""
    files = place.rglob("*") if place.is_dir() else [place]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


if __name__ == "__main__":
    main()
