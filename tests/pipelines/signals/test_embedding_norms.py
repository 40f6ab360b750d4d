"""Lengths of embeddings: one call for all who ask, order kept, malformed ones are failed calls."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from radarstream.connectors.models.scripted import ScriptedEmbedder
from radarstream.defenses.protocol import Norms
from radarstream.pipelines.signals.fulfilment import fulfil
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from tests.scripted_models import scripted_models


@dataclass
class FixedNorms(ScriptedEmbedder):
    lengths: FloatArray | None = None

    def norms(self, texts):
        self.log.append(tuple(texts))
        return super().norms(texts) if self.lengths is None else self.lengths


def test_one_call_for_all_requests_in_order():
    embedder = FixedNorms()
    models = replace(scripted_models(), embedder=embedder)
    found = fulfil({3: Norms(("a b", "c")), 1: Norms(()), 2: Norms(("d e f",))}, models)
    assert [found[i].tolist() for i in (3, 1, 2)] == [[3.0, 2.0], [], [4.0]]
    assert len(embedder.log) == 1


@pytest.mark.parametrize(
    "lengths", [np.array([1.0]), np.ones((2, 1)), np.array([1.0, np.nan]), np.array([1.0, 0.0])]
)
def test_malformed_lengths_are_a_failed_call(lengths: FloatArray):
    models = replace(scripted_models(), embedder=FixedNorms(lengths=lengths))
    assert isinstance(fulfil({0: Norms(("a", "b"))}, models)[0], ModelError)
