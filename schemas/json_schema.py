"""JSON Schema files of the wire format, generated from the types and checked in.

`python -m radarstream.schemas.json_schema` writes them; with `--check` it exits with 1 when one
is out of date.
"""

import argparse
import json
import sys
from pathlib import Path

from radarstream.schemas.codec.wire import ADAPTERS, WIRE_SCHEMAS, WireSchema

DIRECTORY = Path(__file__).parent / "json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def file_name(wire: WireSchema) -> str:
    """For example `search.snapshot.1.json`."""
    return f"{wire.name}.{wire.version}.json"


def rendered() -> dict[str, str]:
    """Text of every schema file (2020-12), by file name; the `schema` tag is a property."""
    files = {}
    for kind, wire in WIRE_SCHEMAS.items():
        schema = {"$schema": DIALECT, "$id": wire.uri, **ADAPTERS[kind].json_schema()}
        schema["properties"] = {"schema": {"const": wire.tag}, **schema["properties"]}
        schema["required"] = ["schema", *schema["required"]]
        files[file_name(wire)] = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    return files


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
