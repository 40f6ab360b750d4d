"""Generates docs/settings.md. `python -m radarstream.pipelines.settings.reference` writes it; with
`--check` it exits with 1 if the file is out of date.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from radarstream.pipelines.settings.loading import models_in
from radarstream.pipelines.settings.models import PROFILES
from radarstream.pipelines.settings.root import Settings
from radarstream.schemas.json_schema import written

FILE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
HEAD = """# Settings

After this page you know every setting, its default and how to set it. Do not edit it: the settings'
own classes write it by `python -m radarstream.pipelines.settings.reference`.

A setting comes from a flag of the command, else from the environment, else from the TOML file of
`--config`, else from the profile, else it has its default. `RADARSTREAM_KAFKA__BOOTSTRAP` is
`kafka.bootstrap`: the prefix, then two underscores between section and key. In the environment a
list or table is JSON: `RADARSTREAM_DOCUMENTS__INNER_NETWORKS='["10.1.0.0/16"]'`. A wrong value or
an unknown key is an error. If a section has kinds, its key `kind` selects one, and the keys of
that kind follow. Secrets are never settings: a setting `…_variable` names the environment variable
with the secret. Examples are in `infra/settings`.
"""
GROUPS = {
    "Models": ["profile", "generator", "relations", "embedder", "tokens", "cache"],
    "Reading and deciding": ["reading", "retrieval", "documents", "defense", "limits", "batch"],
    "The job": ["database", "kafka", "job", "telemetry"],
    "Collecting and following": ["search", "watch", "alerts"],
    "Wrong answers, documents, users": ["attribution", "corpus", "orchestration", "serving"],
}
HEADER = "| key | values | default | meaning |\n|---|---|---|---|"
MANY = 5  # keys of a section; shorter sections are printed again
BOUNDS = {Ge: ("≥", "ge"), Gt: (">", "gt"), Le: ("≤", "le"), Lt: ("<", "lt")}


def rendered() -> str:
    """Return the text of the file."""
    parts = [HEAD, profiles()]
    listed: dict[tuple[str, ...], str] = {}
    for title, names in GROUPS.items():
        parts += [f"## {title}\n", HEADER]
        for name in names:
            parts += rows_of(name, Settings.model_fields[name], listed)
        parts.append("")
    return "\n".join(parts)


def profiles() -> str:
    """Return the table of the defaults of each profile."""
    parts = list(dict.fromkeys(part for given in PROFILES.values() for part in given))
    rows = ["## Profiles\n", f"| profile | {' | '.join(parts)} |", "|---" * (len(parts) + 1) + "|"]
    for profile, given in PROFILES.items():
        cells = [
            ", ".join(f"{key} `{value}`" for key, value in given.get(part, {}).items()) or "–"
            for part in parts
        ]
        rows.append(f"| `{profile}` | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def rows_of(path: str, field: FieldInfo, listed: dict[tuple[str, ...], str]) -> Iterator[str]:
    """Yield the row of a key, or of each kind of a section its purpose, then its keys.

    `listed` has the first path of each long section, so that none is printed twice.
    """
    kinds = list(models_in(field.annotation))
    if kinds and get_origin(field.annotation) is dict:
        path = f"{path}.NAME"
    if not kinds:
        meaning = " ".join((field.description or "").split()).replace("|", "\\|")
        yield f"| `{path}` | {values_of(field)} | {default_of(field)} | {meaning} |"
    for kind in kinds:
        fields = {name: own for name, own in kind.model_fields.items() if name != "kind"}
        first = listed.setdefault(tuple(fields), path) if len(fields) > MANY else path
        tag = f" kind `{kind.model_fields['kind'].default}`" if len(kinds) > 1 else ""
        purpose = " ".join((kind.__doc__ or "").split())
        same = "" if first == path else f" Its keys are those of `{first}`."
        yield f"| **`[{path}]`**{tag} | | | *{purpose}{same}* |"
        if not same:
            for name, own in sorted(
                fields.items(), key=lambda one: any(models_in(one[1].annotation))
            ):
                yield from rows_of(f"{path}.{name}", own, listed)


def values_of(field: FieldInfo) -> str:
    """Describe the values of a field."""
    words = type_words(field.annotation)
    for bound in field.metadata:
        if type(bound) in BOUNDS:
            sign, attribute = BOUNDS[type(bound)]
            words += f" {sign} {getattr(bound, attribute):g}"
        elif isinstance(bound, MinLen):
            words += ", not empty"
    return words


def type_words(annotation: Any) -> str:
    """Describe a type for people who write TOML."""
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
    """Return the default in TOML; defaults that depend on other keys are in the meaning."""
    if field.default_factory is not None:
        return "see meaning"
    if field.default is PydanticUndefined:
        return "**required**"
    if field.default is None:
        return "none"
    value = str(field.default) if isinstance(field.default, Path) else field.default
    return f"`{json.dumps(value, ensure_ascii=False)}`"


if __name__ == "__main__":
    sys.exit(written({FILE: rendered()}, sys.argv))
