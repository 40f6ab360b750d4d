"""What rows depend on beside their own code: the wording of prompts, the versions of packages."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from radarstream.pipelines.signals.prompts import prompt_digests

PACKAGES = ("radarstream", "numpy", "ortools", "pydantic", "sentence-transformers", "torch",
            "transformers", "xllamacpp")  # fmt: skip


def package_versions() -> dict[str, str]:
    """Versions of the packages that decide a result, those that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def reworded(earlier: Mapping[str, str]) -> list[str]:
    """Which prompts have other digests now, in words."""
    wordings = prompt_digests()
    changed = sorted(task for task, digest in earlier.items() if wordings.get(task) != digest)
    return [f"the wording of the prompts {', '.join(changed)} has changed"] if changed else []
