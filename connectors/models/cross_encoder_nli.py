"""A RelationScorer by a natural language inference cross-encoder, from local weights.

RADAR and ReliabilityRAG use DeBERTa-v3 models. Models differ in the order of their labels: it is
read from `id2label`, and checked on three pairs with known relations (the canary) before use. As
short answers such as "15%" are not propositions, both are put into a sentence with the question.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from radarstream.connectors.models.batching import by_length, once_each
from radarstream.connectors.models.local_weights import (
    forbid_hub_access,
    model_directory,
    weights_digest,
)
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.plugins import naming_extra
from radarstream.schemas.prompt import AnswerPair

CLASSES = ("entailment", "neutral", "contradiction")
_CANONICAL = {
    **dict.fromkeys(("entailment", "entail", "entails"), "entailment"),
    **dict.fromkeys(("contradiction", "contradict", "contradicts"), "contradiction"),
    "neutral": "neutral",
}
CANARY = (
    ("A man is playing the guitar on a stage.", "A man is playing the guitar on a stage."),
    ("A man is playing the guitar on a stage.", "Mars has two small moons."),
    ("A man is playing the guitar on a stage.", "No man is playing the guitar on a stage."),
)  # in the order of CLASSES
LONGEST = 512  # tokens of a pair; the end of the longer sentence is cut
BATCH_SIZE = 32  # pairs per forward pass; pairs of similar length share a batch
TEMPLATE = "sentence-1"  # part of model_id: change it when `proposition` changes


def proposition(question: str, answer: str) -> str:
    """Return one declarative sentence with the question and an answer.

    >>> proposition("Who leads France?", "Emmanuel Macron.")
    'The answer to the question "Who leads France?" is: Emmanuel Macron.'
    """
    return 'The answer to the question "' + question.strip() + '" is: ' + answer.strip(" .") + "."


def label_columns(id2label: Mapping[int, str]) -> list[int]:
    """Return the columns of entailment, neutral and contradiction in a model's output.

    Raises ConfigurationError unless it has exactly these three, by a known name.
    """
    column: dict[str, int] = {}
    for index, label in id2label.items():
        name = _CANONICAL.get(str(label).strip().casefold())
        if name is None or name in column:
            raise ConfigurationError(
                f"not an NLI model with entailment, neutral, contradiction: {dict(id2label)}"
            )
        column[name] = int(index)
    if sorted(column.values()) != [0, 1, 2]:
        raise ConfigurationError(f"NLI labels are incomplete: {dict(id2label)}")
    return [column[name] for name in CLASSES]


class CrossEncoderNli:
    """Relates answers to one question by NLI; thread-safe, loads on first use.

    `model` is the directory or cached hub name of a sequence-classification model with tokenizer.
    """

    def __init__(self, model: str | Path) -> None:
        self._name = model
        self._columns: list[int] = []
        self._model: Any = None
        self._tokenizer: Any = None
        self._longest = LONGEST
        self._lock = Lock()

    @property
    def model_id(self) -> str:
        """Fingerprint of weights, tokenizer and sentence template."""
        return f"cross-encoder-nli@{weights_digest(model_directory(self._name))}/{TEMPLATE}"

    def load(self) -> None:
        """Read the weights and check the canary. Raises ConfigurationError if either fails."""
        with self._lock:
            if self._model is None:
                self._read()
                try:
                    self._try_canary()
                except (ConfigurationError, ModelError):
                    self._model = None
                    raise

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """Return (m, 3) probabilities of entailment, neutral and contradiction; rows sum to 1."""
        if not pairs:
            return np.zeros((0, 3))
        self.load()
        sentences = [
            (proposition(p.question, p.premise), proposition(p.question, p.hypothesis))
            for p in pairs
        ]
        with self._lock:
            return once_each(self._score, sentences)

    def _score(self, sentences: list[tuple[str, str]]) -> FloatArray:
        rows = np.empty((len(sentences), 3))
        for chosen in by_length([sum(map(len, pair)) for pair in sentences], BATCH_SIZE):
            rows[chosen] = self._forward([sentences[i] for i in chosen])
        return rows

    def _forward(self, batch: list[tuple[str, str]]) -> FloatArray:
        import torch

        premises, hypotheses = zip(*batch, strict=True)
        try:
            encoded = self._tokenizer(
                list(premises),
                list(hypotheses),
                padding=True,
                truncation=True,
                max_length=self._longest,
                return_tensors="pt",
            ).to(self._model.device)
            with torch.inference_mode():
                logits = self._model(**encoded).logits.double().cpu()
            scores: FloatArray = torch.softmax(logits, dim=-1).numpy()[:, self._columns]
        except (RuntimeError, ValueError, IndexError, KeyError) as error:
            raise ModelError(f"NLI over {len(batch)} pairs failed: {error}") from error
        if not np.isfinite(scores).all():
            raise ModelError("the NLI model returned a probability that is not finite")
        return scores

    def _read(self) -> None:
        directory = model_directory(self._name)
        forbid_hub_access()
        with naming_extra():
            import torch
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(str(directory), local_files_only=True)
            model = AutoModelForSequenceClassification.from_pretrained(
                str(directory), local_files_only=True
            )
            positions = int(getattr(model.config, "max_position_embeddings", LONGEST))
            self._longest = min(LONGEST, positions, int(self._tokenizer.model_max_length))
            self._columns = label_columns(model.config.id2label)
            self._model = model.to(device).eval()
        except (OSError, ValueError, RuntimeError) as error:
            raise ConfigurationError(f"no NLI model at {directory}: {error}") from error

    def _try_canary(self) -> None:
        found = [CLASSES[row.argmax()] for row in self._score(list(CANARY))]
        if found != list(CLASSES):
            raise ConfigurationError(
                f"the NLI model at {self._name} fails its canary: expected {list(CLASSES)}, "
                f"found {found}; its labels may be in another order than its id2label says"
            )
