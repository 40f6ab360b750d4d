"""What is wrong with settings, in words: where it was written, which setting, and why."""

import os
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

PREFIX = "RADARSTREAM_"
MOST_TOLD = 30
ENVIRONMENT = "environment"  # name of the layer whose places are variables


def problems(
    error: ValidationError,
    model: type[BaseModel],
    values: Mapping[str, Any],
    layers: Mapping[str, Mapping[str, Any]],
) -> str:
    """Tell the first problems in one line. `values` were validated, merged from `layers`, the last
    of which wins. Values are not repeated: one may be a password.
    """
    lines = []
    found = error.errors()
    for details in found[:MOST_TOLD]:
        path = path_of(details["loc"], values)
        origin = origin_of(path, layers)
        lines.append(f"{origin}: {'.'.join(path)} {reason(details)}{advice(details, path, model)}")
    more = [f"and {len(found) - MOST_TOLD} more"] if found[MOST_TOLD:] else []
    return "; ".join([*dict.fromkeys(lines), *more])


def reason(details: ErrorDetails) -> str:
    """Say what is wrong with one value in words of this project."""
    context = details.get("ctx", {})
    match details["type"]:
        case "extra_forbidden":
            return "is not a setting"
        case "missing":
            return "is not given"
        case "value_error":
            return f"is refused: {context['error']}"
        case "union_tag_invalid":
            return f"has no kind {context['tag']!r}; there are {context['expected_tags']}"
        case "union_tag_not_found":
            return "does not say its kind"
        case "tuple_type" | "list_type":
            return "must be a list"
        case "model_type" | "model_attributes_type" | "dict_type" | "dataclass_type":
            return "must be a section"
    return details["msg"].replace("Input should", "must", 1)


# What a setting is called now; of another kind, so that no spelling tells it.
REPLACED: Final = {
    "min_support": "withstand",
    "on_empty": "withstand",
    **{name: f"models.{name}" for name in ("surrogate", "masked", "attention")},
}


def advice(details: ErrorDetails, path: Sequence[str], model: type[BaseModel]) -> str:
    """Name the setting that was probably meant by one that does not exist."""
    if details["type"] != "extra_forbidden":
        return ""
    *section, name = path
    kinds = {str(part) for part in details["loc"]}
    alike = REPLACED.get(name) or closest(name, fields_of(model, section, kinds))
    return f"; did you mean {'.'.join([*section, alike])}?" if alike else ""


def closest(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that another one resembles.

    >>> closest("bootstap", ["bootstrap", "group"])
    'bootstrap'
    """
    return next(iter(get_close_matches(name, known, n=1)), None)


def path_of(location: Sequence[int | str], values: Mapping[str, Any]) -> list[str]:
    """Return the names that lead to a value; pydantic also counts the `kind` of a section."""
    path = []
    here: Any = values
    for part in location:
        if isinstance(here, Mapping) and part not in here and part == here.get("kind"):
            continue
        path.append(str(part))
        here = here.get(part) if isinstance(here, Mapping) else None
    return path


def origin_of(path: Sequence[str], layers: Mapping[str, Mapping[str, Any]]) -> str:
    """Name the file or the variable that comes closest to holding the value."""
    best, origin = 0, "settings"
    for name, layer in layers.items():
        depth = depth_in(path, layer)
        if depth and depth >= best:
            best, origin = depth, variable_of(path) if name == ENVIRONMENT else name
    return origin


def depth_in(path: Sequence[str], layer: Mapping[str, Any]) -> int:
    """How many names of the path a layer has."""
    here: Any = layer
    for depth, name in enumerate(path):
        if not isinstance(here, Mapping) or name not in here:
            return depth
        here = here[name]
    return len(path)


def variable_of(path: Sequence[str]) -> str:
    """Name the variable that set a value, or the whole section that it is in."""
    present = {name.upper() for name in os.environ}
    for length in range(len(path), 0, -1):
        variable = PREFIX + "__".join(path[:length]).upper()
        if variable in present:
            return variable
    return ENVIRONMENT


def fields_of(model: type[BaseModel], section: Sequence[str], kinds: set[str]) -> list[str]:
    """List the settings of a section; of a backend's, those of the kind that is meant."""
    models = [model]
    for name in section:
        fields = (each.model_fields.get(name) for each in models)
        models = [found for field in fields if field for found in models_in(field.annotation)]
    meant = [each for each in models if kinds & kind_of(each)] or models
    return [name for each in meant for name in each.model_fields]


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that an annotation is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


def kind_of(model: type[BaseModel]) -> set[str]:
    """Return what a backend's model accepts as its `kind`."""
    field = model.model_fields.get("kind")
    return set(map(str, get_args(field.annotation))) if field else set()
