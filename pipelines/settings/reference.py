"""docs/settings.md: every setting with its default and meaning, generated from the models.

`python -m radarstream.pipelines.settings.reference` writes it; with `--check` it exits with 1 when
the file is out of date.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from radarstream.pipelines.settings.models import PROFILES
from radarstream.pipelines.settings.problems import models_in
from radarstream.pipelines.settings.root import Settings

FILE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
HEAD = """# Settings

After this page you know every setting, its default and how to set it. Do not edit it: the settings'
own classes write it by `python -m radarstream.pipelines.settings.reference`.

A setting comes from a flag of the command, else from the environment, else from the TOML file that
`--config` names, else from the profile, else it has its default. `RADARSTREAM_KAFKA__BOOTSTRAP` is
`kafka.bootstrap`: the prefix, then two underscores between section and key. A wrong value or an
unknown key is an error. Where a section has kinds, its key `kind` names one, and the keys of that
kind follow. Secrets are never settings: a setting `…_variable` names the environment variable that
holds one. Examples are in `infra/settings`.
"""
GROUPS = {
    "Models": ["profile", "generator", "relations", "embedder", "tokens", "cache"],
    "Reading and deciding": ["reading", "retrieval", "defense", "limits", "batch"],
    "The job": ["database", "kafka", "job", "telemetry"],
    "Collecting and following": ["search", "watch", "alerts"],
    "Wrong answers, documents, users": ["attribution", "corpus", "orchestration", "serving"],
}
HEADER = "| key | values | default | meaning |\n|---|---|---|---|"
BOUNDS = {Ge: ("≥", "ge"), Gt: (">", "gt"), Le: ("≤", "le"), Lt: ("<", "lt")}


def rendered() -> str:
    """Return the text of the file."""
    parts = [HEAD, profiles()]
    listed: dict[tuple[str, ...], str] = {}
    for title, names in grouped().items():
        parts += [f"## {title}\n", HEADER]
        for name in names:
            parts += section_rows(name, Settings.model_fields[name], listed)
        parts.append("")
    return "\n".join(parts)


def grouped() -> dict[str, list[str]]:
    """Return the names of the top-level fields by heading; what no group names comes last."""
    named = {name for names in GROUPS.values() for name in names}
    rest = [name for name in Settings.model_fields if name not in named]
    return {**GROUPS, **({"More": rest} if rest else {})}


def profiles() -> str:
    """Return the defaults that each profile brings."""
    parts = list(dict.fromkeys(part for given in PROFILES.values() for part in given))
    rows = ["## Profiles\n", f"| profile | {' | '.join(parts)} |", "|---" * (len(parts) + 1) + "|"]
    for profile, given in PROFILES.items():
        cells = [
            ", ".join(f"{key} `{value}`" for key, value in given.get(part, {}).items()) or "–"
            for part in parts
        ]
        rows.append(f"| `{profile}` | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def section_rows(name: str, field: FieldInfo, listed: dict[tuple[str, ...], str]) -> Iterator[str]:
    """Yield the rows of a top-level field: each section in it opens with what it is for.

    `listed` holds the rows that were printed and where, so that none is printed twice.
    """
    if not any(models_in(field.annotation)):
        yield row("", name, field)
    for path, tag, kind in kinds_within(name, field):
        keys = tuple(row("", key, own) for key, own in own_fields(kind))
        printed = listed.setdefault(keys, path) if len(keys) > 5 else path
        same = "" if printed == path else f" Its keys are those of `{printed}`."
        label = f"**`[{path}]`**" + (f" kind `{tag}`" if tag else "")
        yield f"| {label} | | | *{' '.join((kind.__doc__ or '').split())}{same}* |"
        if not same:
            yield from (row(path, key, own) for key, own in own_fields(kind))


def kinds_within(path: str, field: FieldInfo) -> Iterator[tuple[str, str, type[BaseModel]]]:
    """Yield path, kind (empty where there is one only) and class of each section of a field."""
    kinds = list(models_in(field.annotation))
    for kind in kinds:
        tag = kind.model_fields.get("kind") if len(kinds) > 1 else None
        yield path, str(tag.default) if tag else "", kind
        for name, inner in kind.model_fields.items():
            yield from kinds_within(f"{path}.{name}", inner)


def own_fields(kind: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the keys of a section, without its sections and the `kind` that its purpose names."""
    for name, field in kind.model_fields.items():
        if name != "kind" and not any(models_in(field.annotation)):
            yield name, field


def row(path: str, name: str, field: FieldInfo) -> str:
    """Return the table row of one key."""
    key = f"{path}.{name}" if path else name
    meaning = " ".join((field.description or "").split()).replace("|", "\\|")
    return f"| `{key}` | {values_of(field)} | {default_of(field)} | {meaning} |"


def values_of(field: FieldInfo) -> str:
    """Say in words what a field accepts."""
    words = type_words(field.annotation)
    for bound in field.metadata:
        if type(bound) in BOUNDS:
            sign, attribute = BOUNDS[type(bound)]
            words += f" {sign} {getattr(bound, attribute):g}"
        elif isinstance(bound, MinLen):
            words += ", not empty"
    return words


def type_words(annotation: Any) -> str:
    """Say in words what a type is, for people who write TOML."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin is Annotated:
        return type_words(inner[0])
    if origin in (Union, UnionType):
        return " or ".join(type_words(one) for one in inner if one is not NoneType)
    if origin in (tuple, frozenset, list):
        return f"list of {type_words(inner[0])}"
    if origin is dict:
        return "table"
    names = {str: "text", bool: "true, false", int: "integer", float: "number", Path: "path"}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))


def default_of(field: FieldInfo) -> str:
    """Return the default as TOML writes it; what depends on other keys is said in the meaning."""
    if field.default_factory is not None:
        return "see meaning"
    if field.default is PydanticUndefined:
        return "**required**"
    if field.default is None:
        return "none"
    value = str(field.default) if isinstance(field.default, Path) else field.default
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def main(arguments: list[str] | None = None) -> int:
    """Write the file, or check it. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail on differences")
    parser.add_argument("--file", type=Path, default=FILE)
    options = parser.parse_args(arguments)
    text = rendered()
    if not options.check:
        options.file.write_text(text, encoding="utf-8")
        return 0
    current = options.file.read_text("utf-8") if options.file.is_file() else ""
    if current != text:
        sys.stderr.write(
            f"out of date: {options.file}; run python -m radarstream.pipelines.settings.reference\n"
        )
    return int(current != text)


if __name__ == "__main__":
    sys.exit(main())
