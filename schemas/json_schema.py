"""JSON Schema files of the wire format, generated from the types and checked in.

`python -m radarstream.schemas.json_schema` writes them; with `--check` it exits with 1 when one
is out of date.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from radarstream.schemas.codec.decoding import ADAPTERS
from radarstream.schemas.codec.wire import WIRE_SCHEMAS, Payload, WireSchema

DIRECTORY = Path(__file__).parent / "json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(kind: type[Payload]) -> dict[str, Any]:
    """JSON Schema (2020-12) of one payload type, its `schema` tag included."""
    wire = WIRE_SCHEMAS[kind]
    generated = ADAPTERS[kind].json_schema()
    generated["properties"] = {"schema": {"const": wire.tag}, **generated["properties"]}
    generated["required"] = ["schema", *generated["required"]]
    return {"$schema": DIALECT, "$id": wire.uri, **generated}


def file_name(wire: WireSchema) -> str:
    """For example `search.snapshot.1.json`."""
    return f"{wire.name}.{wire.version}.json"


def rendered() -> dict[str, str]:
    """Text of every schema file, by file name."""
    return {
        file_name(wire): json.dumps(json_schema(kind), indent=2, ensure_ascii=False) + "\n"
        for kind, wire in WIRE_SCHEMAS.items()
    }


def outdated(directory: Path) -> list[str]:
    """Names of the files that are missing from `directory`, differ, or have no type any more."""
    expected = rendered()
    present = {path.name: path.read_text("utf-8") for path in directory.glob("*.json")}
    names = expected.keys() | present.keys()
    return sorted(name for name in names if expected.get(name) != present.get(name))


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or check them. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail on differences")
    parser.add_argument("--directory", type=Path, default=DIRECTORY)
    options = parser.parse_args(arguments)
    if options.check:
        stale = outdated(options.directory)
        if stale:
            sys.stderr.write(
                f"out of date: {', '.join(stale)}; run python -m radarstream.schemas.json_schema\n"
            )
        return 1 if stale else 0
    options.directory.mkdir(exist_ok=True)
    for name, text in rendered().items():
        (options.directory / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
