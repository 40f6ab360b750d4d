"""Which code produced a result."""

import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def code_revision() -> str:
    """Return the git revision of a checkout, marked if changed, or else the package version."""
    here = Path(__file__).parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return installed_version()
    return found.stdout.strip()


def installed_version() -> str:
    """Return the installed package's version."""
    try:
        return f"v{version('radarstream')}"
    except PackageNotFoundError:
        return "unknown"
