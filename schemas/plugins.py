"""Parts that other packages or extras bring, found by name among their entry points.

A group is an entry point group `radarstream.GROUP`, such as `radarstream.rerankers`.
"""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from radarstream.schemas.errors import ConfigurationError


@cache
def plugins(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name; nothing is imported yet."""
    return {point.name: point for point in entry_points(group=f"radarstream.{group}")}


def load_plugin(group: str, name: str) -> Any:
    """Import what an entry point names.

    Raises ConfigurationError, with what to install, where there is none or a library is missing.
    """
    try:
        return plugins(group)[name].load()
    except (KeyError, ImportError) as error:
        lacking = getattr(error, "name", None) or name
        raise ConfigurationError(
            f"{name} needs {lacking}, which is not installed: pip install 'radarstream[lab]'"
        ) from error


def lab_installed() -> bool:
    """Whether the libraries of the extra `lab` are there."""
    try:
        load_plugin("lab", "replay")
    except ConfigurationError:
        return False
    return True
