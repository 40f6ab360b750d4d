"""Generates the JSON Schema files of the wire format from the types.

`python -m radarstream.schemas.json_schema` writes them; with `--check` it exits with 1 if a file
is out of date.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from radarstream.schemas.codec.wire import ADAPTERS, WIRE_SCHEMAS, WireSchema

DIRECTORY = Path(__file__).parent / "json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def file_name(wire: WireSchema) -> str:
    """Return a name such as `search.snapshot.1.json`."""
    return f"{wire.name}.{wire.version}.json"


def rendered() -> dict[str, str]:
    """Return the text of every schema file by its name; the `schema` tag is a property."""
    files = {}
    for kind, wire in WIRE_SCHEMAS.items():
        schema = {"$schema": DIALECT, "$id": wire.uri, **ADAPTERS[kind].json_schema()}
        schema["properties"] = {"schema": {"const": wire.tag}, **schema["properties"]}
        schema["required"] = ["schema", *schema["required"]]
        files[file_name(wire)] = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    return files


def written(files: Mapping[Path, str], arguments: Sequence[str]) -> int:
    """Write generated files, or with `--check` list those that differ. Returns the exit code."""
    stale = [f for f, text in files.items() if not f.is_file() or f.read_text("utf-8") != text]
    if "--check" in arguments:
        for file in stale:
            sys.stderr.write(f"out of date: {file}; run the same without --check\n")
        return int(bool(stale))
    for file in stale:
        file.write_text(files[file], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(written({DIRECTORY / name: text for name, text in rendered().items()}, sys.argv))
