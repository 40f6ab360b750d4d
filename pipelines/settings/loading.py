"""Loads settings: flags over environment (RADARSTREAM_…) over TOML file over defaults; explains
errors.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from tomllib import TOMLDecodeError, loads
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict, SettingsError

from radarstream.connectors.models.openai_http.listing import only_model
from radarstream.pipelines.settings.models import PROFILES
from radarstream.pipelines.settings.root import Settings
from radarstream.schemas.errors import ConfigurationError

PREFIX = "RADARSTREAM_"
MOST_PROBLEMS = 30  # in a message
ENVIRONMENT = "environment"  # name of the layer of environment variables


def problems(
    error: ValidationError, values: Mapping[str, Any], layers: Mapping[str, Mapping[str, Any]]
) -> str:
    """Describe the first problems in one line, without values, which may be passwords.

    `values` were validated; they are merged from `layers`, of which the last has precedence.
    """
    lines = []
    found = error.errors()
    for details in found[:MOST_PROBLEMS]:
        path = path_of(details["loc"], values)
        origin = origin_of(path, layers)
        meant = likeliest(".".join(path)) if details["type"] == "extra_forbidden" else ""
        lines.append(f"{origin}: {'.'.join(path)} {reason(details)}{meant}")
    more = [f"and {len(found) - MOST_PROBLEMS} more"] if found[MOST_PROBLEMS:] else []
    return "; ".join([*dict.fromkeys(lines), *more])


def reason(details: ErrorDetails) -> str:
    """Say what is wrong with one value."""
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
        case "string_type" if isinstance(details["input"], bool):
            return "must be text: in quotes, else no, on and their like are true or false"
        case "tuple_type" | "list_type":
            return "must be a list"
        case "model_type" | "model_attributes_type" | "dict_type" | "dataclass_type":
            return "must be a section"
    return details["msg"].replace("Input should", "must", 1)


def path_of(location: Sequence[int | str], values: Mapping[str, Any]) -> list[str]:
    """Return the names of the path to a value, without the `kind` that pydantic inserts."""
    path = []
    here: Any = values
    for part in location:
        if isinstance(here, Mapping) and part not in here and part == here.get("kind"):
            continue
        path.append(str(part))
        here = here.get(part) if isinstance(here, Mapping) else None
    return path


def origin_of(path: Sequence[str], layers: Mapping[str, Mapping[str, Any]]) -> str:
    """Name the file or the variable that has the value, or the nearest section above it."""
    best, origin = 0, "settings"
    for name, layer in layers.items():
        depth = depth_in(path, layer)
        if depth and depth >= best:
            best, origin = depth, variable_of(path) if name == ENVIRONMENT else name
    return origin


def depth_in(path: Sequence[str], layer: Mapping[str, Any]) -> int:
    """Return how many names of the path a layer has."""
    here: Any = layer
    for depth, name in enumerate(path):
        if not isinstance(here, Mapping) or name not in here:
            return depth
        here = here[name]
    return len(path)


def variable_of(path: Sequence[str]) -> str:
    """Name the variable that set a value, or its whole section."""
    present = {name.upper() for name in os.environ}
    for length in range(len(path), 0, -1):
        variable = PREFIX + "__".join(path[:length]).upper()
        if variable in present:
            return variable
    return ENVIRONMENT


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


def names_in(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of all sections and settings."""
    for name, field in model.model_fields.items():
        yield prefix + name
        for inner in models_in(field.annotation):
            yield from names_in(inner, f"{prefix}{name}.")


def likeliest(name: str) -> str:
    """Suggest the setting that is nearest to an unknown name.

    >>> likeliest("kafka.bootstap")
    '; did you mean kafka.bootstrap?'
    """
    near = get_close_matches(name, [*names_in(Settings)], n=1, cutoff=0.8)
    return f"; did you mean {near[0]}?" if near else ""


NOT_SETTINGS = {"RADARSTREAM_DATA"}  # the data sets of tests and calibration
FILE_BYTES: Final = 2**20
KEY: Final = "OPENAI_API_KEY"


class EnvironmentSettings(Settings, BaseSettings):
    """The settings as environment variables, such as RADARSTREAM_GENERATOR__SLOTS=8."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__")


def load_settings(file: Path | None = None, **flags: Any) -> Settings:
    """Merge flags, environment, TOML file and the profile's defaults.

    Flags that are None do not count. Raises ConfigurationError with every wrong key.

    >>> load_settings(profile="scripted").generator.kind
    'scripted'
    """
    given = {name: value for name, value in flags.items() if value is not None}
    layers = {
        str(file): read_toml(file) if file else {},
        ENVIRONMENT: read_environment(),
        "flags": given,
    }
    named = [layer["profile"] for layer in layers.values() if "profile" in layer]
    profile = named[-1] if named else "embedded"
    if profile not in list(PROFILES):  # in a TOML file it may have any type
        raise ConfigurationError(
            f"settings: no profile {profile!r}; there are {', '.join(PROFILES)}"
        )
    values: dict[str, Any] = dict(PROFILES[profile])
    for layer in layers.values():
        values = overlaid(values, layer)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigurationError(problems(error, values, layers)) from None


def read_environment() -> dict[str, Any]:
    """Read RADARSTREAM_… variables. Raises ConfigurationError for an unknown setting."""
    names = {name.upper() for name in os.environ if name.upper().startswith(PREFIX)}
    known = {PREFIX + field.upper() for field in Settings.model_fields} | NOT_SETTINGS
    unknown = sorted(name for name in names if name.split("__")[0] not in known)
    if unknown:
        raise ConfigurationError("; ".join(f"{name} is not a setting" for name in unknown))
    try:
        return with_typed_options(EnvSettingsSource(EnvironmentSettings)())
    except SettingsError as error:
        value = getattr(error.__cause__, "doc", None)  # of a JSONDecodeError
        wrong = ", ".join(name for name in sorted(names) if value and os.environ.get(name) == value)
        raise ConfigurationError(
            f'{wrong or error}: a list or table is written as JSON, such as \'["a", "b"]\''
        ) from None
    except RecursionError:
        raise ConfigurationError(f"a {PREFIX}… variable is nested too deeply") from None


def with_typed_options(values: dict[str, Any]) -> dict[str, Any]:
    """Parse the options of methods as TOML, because variables are always text.

    >>> with_typed_options({"retrieval": {"options": {"runs": "4", "likeness": "dense"}}})
    {'retrieval': {'options': {'runs': 4, 'likeness': 'dense'}}}
    """
    return {
        section: value
        | {
            "options": {
                k: scalar(v) if isinstance(v, str) else v for k, v in value["options"].items()
            }
        }
        if isinstance(value, dict) and isinstance(value.get("options"), dict)
        else value
        for section, value in values.items()
    }


def overlaid(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Merge two layers, section by section; another `kind` replaces a whole section."""
    merged = below | above
    for name, value in above.items():
        under = below.get(name)
        if isinstance(under, dict) and isinstance(value, dict):
            same_kind = "kind" not in value or value["kind"] == under.get("kind")
            merged[name] = overlaid(under, value) if same_kind else value
    return merged


def read_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file. Raises ConfigurationError if it is unreadable or malformed."""
    try:
        with file.open("rb") as stream:
            data = stream.read(FILE_BYTES + 1)
    except FileNotFoundError:
        raise ConfigurationError(f"no settings file at {file}") from None
    except OSError as error:
        raise ConfigurationError(f"cannot read {file}: {error.strerror}") from None
    if len(data) > FILE_BYTES:
        raise ConfigurationError(f"{file} is over {FILE_BYTES} bytes: not a file of settings")
    try:
        return loads(data.decode())
    except (TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} is not TOML: {error}") from None
    except (ValueError, RecursionError):  # int() takes 4,300 digits
        raise ConfigurationError(f"{file} has values that no setting accepts") from None


def chosen_model(
    model: str | None, base_url: str | None, profile: str | None = None
) -> dict[str, Any]:
    """Return the flags of `load_settings` for a model of an OpenAI-compatible service.

    A model or an address selects the profile `api`, unless `profile` is given. With an address,
    the key is optional.

    >>> chosen_model(None, None, "api")
    {'profile': 'api'}
    """
    flags: dict[str, Any] = {} if profile is None else {"profile": profile}
    if model is None and base_url is None:
        return flags
    generator = {"kind": "openai"}
    if model is not None:
        generator["model"] = model
    if base_url is not None:
        generator["base_url"] = base_url
        if KEY not in os.environ:
            generator["api_key_variable"] = ""
    return {"profile": "api", **flags, "generator": generator}


def with_served_model(flags: dict[str, Any], *layers: Mapping[str, Any]) -> dict[str, Any]:
    """Add the only model of a service to flags that have its address and no model, unless one of
    the `layers` has a model. Raises ConfigurationError if the service has not exactly one.
    """
    asked = flags.get("generator", {})
    if "base_url" not in asked or "model" in asked:
        return flags
    section: dict[str, Any] = {"kind": asked["kind"]}
    for above in (layer.get("generator") for layer in (*layers, flags)):
        if isinstance(above, dict):  # in a file it may have any type
            section = overlaid({"of": section}, {"of": above})["of"]
    if section.get("kind") != asked["kind"] or "model" in section:
        return flags
    with suppress(ValidationError):  # loading the settings reports an invalid address
        model = only_model(asked["base_url"], section.get("api_key_variable", KEY))
        return flags | {"generator": asked | {"model": model}}
    return flags


def option(text: str) -> tuple[str, Any]:
    """Read `name=value`."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise ConfigurationError(f"cannot read option {text!r}; write it like pair_scale=0.3")
    return name, scalar(value)


def scalar(text: str) -> bool | int | float | str | list[Any]:
    """Parse a TOML boolean, number, string or list of them; return other texts unchanged.

    >>> scalar("0.3"), scalar("true"), scalar("abstain")
    (0.3, True, 'abstain')
    """
    try:
        value = loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # not TOML, too many digits, too deep
        return text
    return value if isinstance(value, bool | int | float | str | list) else text
