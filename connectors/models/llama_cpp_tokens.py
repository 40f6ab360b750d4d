"""Token probabilities of the model that llama.cpp runs, told by llama.cpp itself.

llama.cpp tells the probability of a token that it generates, before sampling. So every token of a
continuation is generated in turn, forced by a bias that has no part in the probability, and the
server keeps what it has read so far: a token costs one step of generation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx
import numpy as np

from radarstream.connectors.models.llama_cpp import API_KEY, LlamaCpp
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Prompt
from radarstream.schemas.tokens import ContinuationQuery, NextTokenQuery, NextTokenRows

MOST_PROBABLE: Final = 4096  # next tokens that are told one by one
_FORCE: Final = 1e6  # added to a logit: more than any model's logits differ
_REFUSING: Final = ("I", " I", "\n", "Please", " Please")
_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class LlamaCppTokens:
    """Tells token probabilities of `generator`'s model, without loading it a second time.

    `log_probs` are the model's own. Of next tokens the `MOST_PROBABLE` are the model's own; what
    probability is left is spread evenly over the others, each of which has less than any of those
    told. As with completions, what is read together changes the last bits (about 1e-3 of a
    logarithm). Raises ModelError from every call.
    """

    generator: LlamaCpp

    @property
    def model_id(self) -> str:
        """The generator's, and how many next tokens are told."""
        return f"{self.generator.model_id}/next={MOST_PROBABLE}"

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Per query (r, t) natural logarithms, one column per token of its continuation."""
        if not queries:
            return []
        vocabulary = _Vocabulary(self.generator.server())
        said = [vocabulary.continuation(query.continuation) for query in queries]
        logs = [np.empty((len(q.prompts), len(s))) for q, s in zip(queries, said, strict=True)]
        rows = [
            (self.generator.text(prompt), query, row)
            for query, asked in enumerate(queries)
            for row, prompt in enumerate(asked.prompts)
        ]
        for text, query, row in sorted(rows):  # what begins alike follows each other
            for position, token in enumerate(said[query]):
                told = self._next(text, said[query][:position], force=token)
                logs[query][row, position] = min(told["logprob"], 0.0)
        return logs

    def next_tokens(self, queries: Sequence[NextTokenQuery]) -> list[NextTokenRows]:
        """One answer per query, in order."""
        if not queries:
            return []
        vocabulary = _Vocabulary(self.generator.server())
        stops, refusals = vocabulary.stops(), vocabulary.refusals()
        answers = []
        for query in queries:
            rows = np.empty((len(query.prompts), vocabulary.size))
            texts = [self.generator.text(prompt) for prompt in query.prompts]
            for row in sorted(range(len(texts)), key=texts.__getitem__):
                told = self._next(texts[row], query.prefix, count=MOST_PROBABLE)["top_logprobs"]
                rows[row] = _distribution(told, vocabulary.size)
            answers.append(NextTokenRows(rows, vocabulary.text(query.prefix), stops, refusals))
        return answers

    def _next(
        self, text: str, said: Sequence[int], *, force: int | None = None, count: int = 1
    ) -> Any:
        """What llama.cpp tells of the token after `text` and the tokens `said`."""
        request = self.generator.request([text, *said], 1) | {"n_probs": count, "stop": []}
        if force is not None:
            request["logit_bias"] = [[force, _FORCE]]
        try:
            response = self.generator.server().handle_completions(request)
        except RuntimeError as error:
            raise ModelError(f"llama.cpp refused a request: {error}") from error
        match response:
            case {"choices": [{"logprobs": {"content": [{"id": int(token)} as told]}}]} if (
                force in (None, token)
            ):
                return told
            case {"error": {"message": str(message)}}:
                raise ModelError(f"llama.cpp failed: {message}")
        raise ModelError("llama.cpp told no probability of a token")


def _distribution(told: Sequence[Any], size: int) -> FloatArray:
    """(size,) logarithms that sum to 1 as probabilities, from the most probable tokens."""
    tokens = np.array([entry["id"] for entry in told], dtype=np.intp)
    logs = np.array([entry["logprob"] for entry in told])
    left = max(1.0 - np.exp(logs).sum(), 0.0)
    with np.errstate(divide="ignore"):
        row = np.full(size, np.log(left / max(size - len(told), 1)))
    row[tokens] = np.minimum(logs, 0.0)
    return row


class _Vocabulary:
    """The tokens of a loaded model, which llama.cpp tells on its loopback port only."""

    def __init__(self, server: Any) -> None:
        self._url = str(server.listening_address)

    @property
    def size(self) -> int:
        """Number of tokens."""
        return int(self._ask("GET", "/v1/models")["data"][0]["meta"]["n_vocab"])

    def continuation(self, text: str) -> tuple[int, ...]:
        """A reply's tokens as they follow a prompt, which ends in a colon.

        Raises ModelError when there is none.
        """
        before, joined = self._tokens(":"), self._tokens(f": {text}")
        separable = joined[: len(before)] == before
        tokens = joined[len(before) :] if separable else self._tokens(f" {text}")
        if not text.strip() or not tokens:
            raise ModelError("a continuation without a token has no probability")
        return tuple(tokens)

    def text(self, tokens: Sequence[int]) -> str:
        """What tokens say."""
        return str(self._ask("POST", "/detokenize", {"tokens": list(tokens)})["content"])

    def stops(self) -> frozenset[int]:
        """The token that ends a text."""
        return frozenset(self._tokens(self._ask("GET", "/props")["eos_token"])[-1:])

    def refusals(self) -> frozenset[int]:
        """Single tokens for "I", "Please" and a line break."""
        found = ((word, self._tokens(word)[-1:]) for word in _REFUSING)
        return frozenset(
            tokens[0]
            for word, tokens in found
            if tokens and self.text(tokens).strip(" ") == word.strip(" ")
        )

    def _tokens(self, text: str) -> list[int]:
        body = {"content": text, "add_special": False, "parse_special": True}
        return [int(token) for token in self._ask("POST", "/tokenize", body)["tokens"]]

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        try:
            response = httpx.request(
                method,
                self._url + path,
                json=body,
                headers={"Authorization": f"Bearer {API_KEY}"},
                timeout=_TIMEOUT_S,
                trust_env=False,
            )
            return response.raise_for_status().json()
        except (httpx.HTTPError, ValueError) as error:
            raise ModelError(f"llama.cpp does not tell its tokens: {error}") from error
