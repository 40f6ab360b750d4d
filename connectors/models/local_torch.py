"""Whether networks can run in torch here, told without importing it."""

from importlib.util import find_spec

from radarstream.schemas.errors import ConfigurationError


def insist_on(*libraries: str) -> None:
    """Raise ConfigurationError, naming what to install, where a library of networks is missing."""
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        install = "pip install 'radarstream[gpu]'"
        needed = ConfigurationError(
            f"{' and '.join(missing)} missing, which gradients and masked language models need: "
            f"{install}"
        )
        raise needed.mended_by(install)
