"""Write the lock files beside this one: every package with its version and hashes.

`make lock` runs it. Versions follow pyproject.toml, constraints.txt and what is locked already;
`python requirements/lock.py --upgrade` takes the newest that fit.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent
# Extras of every image, beside its models.
IMAGE: Final = ("alerts", "pages", "postgres", "stream", "traces")
LOCKS: Final = {
    "demo": ("embedded", "lab", "pages", "stream"),
    "image-embedded": ("embedded", *IMAGE),
    "image-api": IMAGE,
}
BUILDING: Final = ("demo",)  # locks that also hold what builds the project
EMBEDDED: Final = ("demo", "image-embedded")  # locks that also hold the weights of weights.in
# What Beam, OR-Tools and tokenizers ask for and this project never makes them import, 300 MB of it.
# A test runs without them. The lock of development holds them.
UNUSED: Final = re.compile(r"(hf-xet|huggingface-hub|pandas|pillow|pyarrow|pymongo)==")
# Libraries of torch's CUDA build; its CPU build needs none of them.
CUDA: Final = re.compile(r"(cuda-|nvidia-|triton)")
HEADER: Final = "# Written by `make lock`. Do not edit.\n"


def main() -> None:
    """Write every lock file, the development one first: the others take its versions."""
    upgrade = sys.argv[1:] == ["--upgrade"]
    known = [] if upgrade else blocks_of("development") + blocks_of("torch-cuda")
    weights = compiled(["--no-deps"], known, source="requirements/weights.in")
    everything = compiled(["--all-extras", "requirements/build.in"], known) + weights
    write("development", everything, cuda=False)
    write("torch-cuda", everything, cuda=True)
    write("build", compiled([], everything, source="requirements/build.in"), cuda=False)
    for name, extras in LOCKS.items():
        chosen = [f"--extra={extra}" for extra in extras]
        chosen += ["requirements/build.in"] if name in BUILDING else []
        blocks = compiled(chosen, everything)
        blocks = [block for block in blocks if not UNUSED.match(block)]
        write(name, blocks + (weights if name in EMBEDDED else []), cuda=False)


def compiled(arguments: list[str], known: list[str], source: str = "pyproject.toml") -> list[str]:
    """Resolve with uv, at the `known` versions where they fit; one block of text a package."""
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory) / "lock.txt"
        pins = [block.partition(" \\\n")[0] for block in known]
        output.write_text("\n".join(pins), encoding="utf-8")
        command = [sys.executable, "-m", "uv", "pip", "compile", source, *arguments]
        command += ["--universal", "--python-version=3.11", "--generate-hashes", "--no-header"]
        command += ["--no-annotate", "--constraint=constraints.txt", f"--output-file={output}"]
        subprocess.run([*command, "--quiet", "--no-config"], cwd=ROOT, check=True)
        return split(output.read_text("utf-8"))


def blocks_of(name: str) -> list[str]:
    """What a lock file holds now."""
    return split((HERE / f"{name}.txt").read_text("utf-8").removeprefix(HEADER))


def split(text: str) -> list[str]:
    """A requirement with its hashes each; every one begins with a letter."""
    return re.split(r"\n(?=\w)", text.strip())


def write(name: str, blocks: list[str], *, cuda: bool) -> None:
    """Write the packages that are, or are not, libraries of CUDA."""
    chosen = sorted(block for block in blocks if bool(CUDA.match(block)) == cuda)
    (HERE / f"{name}.txt").write_text(HEADER + "\n".join(chosen) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
