"""Parts that extras and other packages bring.

Plug-ins are found by name among the entry points of installed packages. A group is an entry point
group `radarstream.GROUP`, such as `radarstream.rerankers`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from radarstream.schemas.errors import ConfigurationError

# The extra that brings each library, by the name it is imported by.
EXTRAS: Final = {
    **dict.fromkeys(("gguf", "safetensors", "tokenizers", "xllamacpp"), "embedded"),
    **dict.fromkeys(("apache_beam", "cramjam", "kafka", "lz4", "zstandard"), "stream"),
    **dict.fromkeys(("polars", "scipy", "vl_convert"), "lab"),
    **dict.fromkeys(("sentence_transformers", "torch", "transformers"), "gpu"),
    **dict.fromkeys(("lxml_html_clean", "trafilatura"), "pages"),
    "psycopg": "postgres",
    **dict.fromkeys(("haystack", "langchain_core", "llama_index"), "adapters"),
}


def lacking(library: str | None) -> ConfigurationError:
    """The error for a library that is missing, with the command that installs it.

    >>> str(lacking("apache_beam.io"))
    "apache_beam is not installed: pip install 'radarstream[stream]'"
    """
    name = (library or "a library").partition(".")[0]
    install = f"pip install 'radarstream[{EXTRAS.get(name, 'lab')}]'"
    return ConfigurationError(f"{name} is not installed: {install}").mended_by(install)


@contextmanager
def naming_extra() -> Iterator[None]:
    """Turn a missing library of an extra into a ConfigurationError that says what to install."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in EXTRAS:
            raise
        raise lacking(error.name) from error


@cache
def plugins(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name; nothing is imported yet."""
    return {point.name: point for point in entry_points(group=f"radarstream.{group}")}


def load_plugin(group: str, name: str) -> Any:
    """Import what an entry point names.

    Raises ConfigurationError, with what to install, where there is none or a library is missing.
    """
    if name not in plugins(group):
        raise ConfigurationError(f"no package brings {group} {name!r}")
    with naming_extra():
        return plugins(group)[name].load()


def lab_installed() -> bool:
    """Whether the libraries of the extra `lab` are there."""
    try:
        load_plugin("lab", "replay")
    except ConfigurationError:
        return False
    return True
