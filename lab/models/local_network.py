"""What networks of transformers in this process share: their weights, when they load, one lock."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Self

from radarstream.connectors.models.local_weights import forbid_hub_access, model_directory
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.plugins import insist_on


class LocalNetwork(ABC):
    """A network from weights on this disk; loads on first use, then thread-safe.

    Parameters
    ----------
    model: directory or cached hub name.
    device: None takes CUDA when present.
    """

    def __init__(self, model: str | Path | None = None, *, device: str | None = None) -> None:
        self._name, self._device = model, device
        self._network: Any = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self._name, "device": self._device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @property
    def directory(self) -> Path:
        """Directory of the weights; ConfigurationError when there are none."""
        return model_directory(self._name or "")

    def check(self) -> None:
        """Raise ConfigurationError where libraries or weights are missing; loads neither."""
        insist_on("torch", "transformers")
        _ = self.directory

    def checked(self) -> Self:
        """The network, after `check`."""
        self.check()
        return self

    @contextmanager
    def failing(self, doing: str) -> Iterator[None]:
        """One call at a time; what torch raises becomes a ModelError."""
        with self._lock:
            try:
                yield
            except (RuntimeError, ValueError, IndexError) as error:
                raise ModelError(f"{doing} failed: {error}") from error

    def network(self) -> Any:
        """The network, loading on first use. Raises ConfigurationError."""
        if self._network is None:
            self.check()
            forbid_hub_access()
            from transformers.utils import logging

            logging.disable_progress_bar()  # type: ignore[no-untyped-call] # would run through logs
            try:
                self._network = self._read(self.directory)
            except (OSError, ValueError, RuntimeError) as error:
                raise ConfigurationError(f"cannot load {self.directory}: {error}") from error
        return self._network

    @abstractmethod
    def _read(self, directory: Path) -> Any:
        """Read the weights. Raises OSError, ValueError, RuntimeError, ConfigurationError."""
