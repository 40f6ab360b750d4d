"""Loads the models while the service already listens."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog

from radarstream.schemas.errors import RadarstreamError

AGAIN_S: Final = 10.0  # after models that did not answer

log = structlog.get_logger("radarstream")


class Warming:
    """Loads models in a thread; `load` raises where one does not answer, None loads nothing.
    Questions wait for the first try; it is repeated until all models have answered (`ready`).
    """

    def __init__(self, load: Callable[[], None] | None = None) -> None:
        self._load = load
        self._tried = asyncio.Event()
        self._tried.set()  # nobody waits before somebody loads
        self.ready = load is None

    @property
    def loading(self) -> bool:
        """Whether questions have to wait."""
        return not self._tried.is_set()

    async def tried(self) -> None:
        """Wait until the models are loaded, or one of them did not answer."""
        await self._tried.wait()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Load while the context lasts."""
        if self._load is None:
            yield
            return
        self._tried.clear()
        loading = asyncio.create_task(self._until_ready(self._load))
        try:
            yield
        finally:
            loading.cancel()
            with suppress(asyncio.CancelledError):
                await loading

    async def _until_ready(self, load: Callable[[], None]) -> None:
        while True:
            try:
                await asyncio.to_thread(load)
            except RadarstreamError as error:
                log.warning("a model does not answer yet", error=error)
            except Exception as error:  # noqa: BLE001 a library's; questions will tell
                log.error("the models could not be loaded", error=error)  # noqa: TRY400 as above
            else:
                self.ready = True
                log.info("models are loaded", state="ready")
                return
            finally:
                self._tried.set()
            await asyncio.sleep(AGAIN_S)
