"""Gradients of a sentence encoder's similarities, for many passages and runs at once.

ProGRank asks how the gradient of a similarity with respect to one LayerNorm varies from run to run
of dropout; GMTP asks which tokens a similarity hangs on. A run costs one forward pass and half a
backward pass: examples do not meet in a batch, so one backward pass of the sum gives the gradient
with respect to each example's own LayerNorm output, from which those of weight and bias follow.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from radarstream.connectors.models.bundled import MINILM, differing, refusal
from radarstream.connectors.models.local_weights import deciding_files, weights_digest
from radarstream.connectors.models.sentence_embedder import minilm_directory
from radarstream.lab.insights import ProbeQuery, SalienceQuery, TokenSalience
from radarstream.lab.models.local_network import LocalNetwork
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.plugins import insist_on

_VERSION: Final = "drawn-1"  # part of model_id: how disturbances are drawn


class GradientEncoder(LocalNetwork):
    """Gradients of a sentence-transformers model; None means the installed MiniLM.

    What is drawn for a run depends on the seed, question, passage and run alone, so that neither
    the batch nor the order of calls changes a result, except in the last bits. Weights are frozen,
    and torch's own random numbers stay as they are.
    """

    @property
    def directory(self) -> Path:
        """Directory of the weights; ConfigurationError when there are none."""
        return minilm_directory() if self._name is None else super().directory

    @property
    def model_id(self) -> str:
        """Fingerprint of the weights, and how disturbances are drawn."""
        return f"gradient-encoder@{weights_digest(self.directory)}/{_VERSION}"

    def check(self) -> None:
        """Raise ConfigurationError where libraries or weights are missing; loads neither."""
        super().check()
        insist_on(*(["sentence_transformers"] if self._name else []))

    def probe(self, queries: Sequence[ProbeQuery]) -> FloatArray:
        """(m, r, r) Gram matrices; NaN for a passage of whose gradients one is not finite. All
        queries must have equally many runs. Raises ModelError.
        """
        if not queries:
            return np.empty((0, 2, 2))
        if len({query.runs for query in queries}) > 1:
            raise ModelError("queries of one call must have equally many runs")
        with self.failing(f"gradients of {len(queries)} passages"):
            network = self.network()
            from radarstream.lab.models.gradient_runs import gradients_of_runs

            if any(not 0 <= query.layer < len(network.norms) for query in queries):
                raise ModelError(f"the encoder's layers are 0 to {len(network.norms) - 1}")
            rows = gradients_of_runs(network, queries)
        grams = rows @ rows.transpose(0, 2, 1)
        grams[~np.isfinite(grams).all(axis=(1, 2))] = np.nan
        return np.asarray(grams)

    def saliences(self, queries: Sequence[SalienceQuery]) -> list[tuple[TokenSalience, ...]]:
        """Per query the tokens of its passage, as far as the encoder reads. Raises ModelError."""
        if not queries:
            return []
        with self.failing(f"saliences of {len(queries)} passages"):
            network = self.network()
            from radarstream.lab.models.gradient_runs import saliences_of

            return saliences_of(network, queries)

    def _read(self, directory: Path) -> Any:
        from radarstream.lab.models import gradient_network

        if self._name is not None:
            return gradient_network.sentence_network(directory, self._device)
        if wrong := differing(MINILM, deciding_files(directory)):
            raise refusal(MINILM, wrong, directory)
        return gradient_network.bundled_network(directory, self._device)
