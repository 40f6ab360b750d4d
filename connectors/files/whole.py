"""Files that are written whole or not at all."""

import json
from pathlib import Path
from typing import Any


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON; whole or not at all."""
    text = json.dumps(value, indent=2, ensure_ascii=True, default=str)
    write_whole(path, f"{text}\n".encode("ascii"))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: a crash leaves what was there before."""
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(content)
    partial.replace(path)
