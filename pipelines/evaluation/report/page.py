"""What every report page is made with: templates that escape, and our own styles and scripts."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from radarstream.connectors.models.bundled import licences
from radarstream.pipelines.evaluation.report.safe_text import shorten, visible


def page_environment(package: str) -> Environment:
    """Templates of a package, which escape everything, fail on unknown names and show hidden
    characters.
    """
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shorten"] = shorten
    environment.filters["decimal"] = decimal
    environment.globals["licences"] = licences
    return environment


def decimal(value: float | None, places: int = 2, signed: bool = False) -> str:
    """A number with a fixed number of decimals, an en dash where there is none.

    >>> decimal(-0.5, 1), decimal(0.5, 1, signed=True), decimal(-0.01, 1), decimal(None)
    ('−0.5', '+0.5', '0.0', '–')
    """
    if value is None:
        return "–"
    text = f"{value:{'+' if signed else ''}.{places}f}"
    return text.lstrip("+-") if float(text) == 0.0 else text.replace("-", "−")


@cache
def asset(package: str, name: str) -> Markup:
    """A style or script file of a package of ours, trusted as it is ours."""
    text = (files(package) / "templates" / name).read_text("utf-8")
    return Markup(text)  # noqa: S704  (shipped with the package)


def script_hash(script: str) -> str:
    """What a content security policy calls a script by."""
    return b64encode(sha256(script.encode()).digest()).decode()
