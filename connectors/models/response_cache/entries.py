"""How the replies of each method are stored: key, subject and encoding."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Final

import numpy as np

from radarstream.connectors.models.batching import places
from radarstream.connectors.models.wrapping import Method, Replies
from radarstream.connectors.state_table.queries.subject import EMBEDDINGS, question_subject
from radarstream.schemas.arrays import embedding_rows, relation_rows
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Completion
from radarstream.schemas.tokens import ContinuationQuery


@dataclass(frozen=True, slots=True)
class Entry:
    """The entries of one method.

    `name` is part of the key; its number changes with the encoding. `chunk` requests are asked and
    stored at a time. `subject` is what an entry is about, for `queries.forgetting`. `check`
    raises ModelError instead of returning replies that must not be stored.
    """

    name: str
    chunk: int
    digest: Callable[[Any], bytes]
    subject: Callable[[Any], bytes]
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    check: Callable[[Replies, str], Replies] = lambda replies, _: replies


def digest_of(*texts: str) -> bytes:
    """32 bytes that differ whenever any of the texts differs."""
    digest = sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.digest()


def encode_completion(completion: Completion) -> bytes:
    """JSON of its fields."""
    return json.dumps(asdict(completion), separators=(",", ":")).encode("ascii")


def decode_row(value: bytes, stored_as: str) -> FloatArray:
    """A stored row as float64."""
    return np.frombuffer(value, stored_as).astype(np.float64)


def checked_by(check: Callable[[Any, int], FloatArray]) -> Callable[[Replies, str], Replies]:
    """A check of `schemas.arrays` that raises ModelError."""

    def checked(rows: Replies, model_id: str) -> Replies:
        try:
            return check(rows, len(rows))
        except ValueError as error:
            raise ModelError(f"{model_id}: {error}") from error

    return checked


@dataclass(frozen=True, slots=True)
class ByPrompt:
    """A token scorer that is asked prompt by prompt: a request is a query of one prompt."""

    model: Any

    @property
    def model_id(self) -> str:
        """The token scorer's."""
        model_id: str = self.model.model_id
        return model_id

    def log_probs(self, requests: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Per request its (t,) row. Raises ModelError.

        The model is asked for the prompts of a continuation together: they share their beginning.
        """
        where = places(request.continuation for request in requests)
        queries = [
            ContinuationQuery(tuple(requests[i].prompts[0] for i in indices), continuation)
            for continuation, indices in where.items()
        ]
        found: dict[int, FloatArray] = {}
        for rows, indices in zip(self.model.log_probs(queries), where.values(), strict=True):
            if rows.ndim != 2 or len(rows) != len(indices) or np.isnan(rows).any():
                raise ModelError(f"{self.model_id} did not return a row of numbers per prompt")
            found |= dict(zip(indices, rows, strict=True))
        return [found[index] for index in range(len(requests))]


ENTRIES: Final[Mapping[Method, Entry]] = {
    Method.COMPLETE: Entry(
        "completion/1",
        32,
        lambda prompt: prompt.digest(),
        lambda prompt: question_subject(prompt.question),
        encode_completion,
        lambda value: Completion(**json.loads(value)),
    ),
    Method.PROBABILITIES: Entry(
        "relation/1",
        1024,
        lambda pair: digest_of(pair.question, pair.premise, pair.hypothesis),
        lambda pair: question_subject(pair.question),
        lambda row: row.astype("<f8").tobytes(),
        lambda value: decode_row(value, "<f8"),
        checked_by(relation_rows),
    ),
    Method.EMBED: Entry(  # single precision: rows keep unit length to about 1e-7
        "embedding/1",
        256,
        digest_of,
        lambda _: EMBEDDINGS,
        lambda row: row.astype("<f4").tobytes(),
        lambda value: decode_row(value, "<f4"),
        checked_by(embedding_rows),
    ),
    Method.LOG_PROBS: Entry(  # of queries of one prompt each, see ByPrompt
        "log-probs/1",
        32,
        lambda query: query.prompts[0].digest() + digest_of(query.continuation),
        lambda query: question_subject(query.prompts[0].question),
        lambda row: row.astype("<f8").tobytes(),
        lambda value: decode_row(value, "<f8"),
    ),
}
