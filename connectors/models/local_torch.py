"""Whether networks can run in torch here, told without importing it."""

from importlib.util import find_spec

from radarstream.schemas.errors import ConfigurationError


def insist_on_torch() -> None:
    """Raise ConfigurationError, naming what to install, where torch or transformers is missing."""
    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if missing:
        needed = ConfigurationError(
            f"{' and '.join(missing)} missing, which gradients and masked language models need: "
            "pip install 'radarstream[gpu]'"
        )
        raise needed.mended_by("pip install 'radarstream[gpu]'")
