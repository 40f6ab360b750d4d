"""Token probabilities of a GGUF model, by llama.cpp.

llama.cpp reports the probability of a generated token, before sampling. So each token of a
continuation is generated in turn, forced by a bias that does not affect the probability. The server
keeps the text before it, so that a token costs one step of generation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from radarstream.connectors.models.gguf_weights import (
    CONVERSION_VERSION,
    EMBEDDED_NAME,
    converted,
    embedded_gguf,
    weights_name,
)
from radarstream.connectors.models.llama_cpp import API_KEY, LlamaCpp
from radarstream.connectors.models.rendering import rendering_name
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import ContinuationQuery

Tokenize = Callable[[str], list[int]]
MOST_PROBABLE: Final = 4096  # reported next tokens
_FORCE: Final = 1e6  # added to a logit; larger than differences of logits
_SLOTS: Final = 12  # prompts in the cache
_CONTEXT: Final = 12_288  # tokens of all slots: 0.2 GB for the embedded model
_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class GgufTokens:
    """A TokenScorer by a GGUF file, by default the embedded weights.

    The first call ever converts the file to half precision (`gguf_weights`); the first of a process
    loads it. Logarithms have an error of about 0.01. `threads` and `passage_characters` are as in
    `LlamaCpp`. Calls raise ModelError.
    """

    model_path: Path | None = None
    threads: int | None = None
    passage_characters: int | None = None

    @property
    def model_id(self) -> str:
        """Name and checksum of the weights, conversion, and how prompts are rendered."""
        how = f"{CONVERSION_VERSION}/{rendering_name(self.passage_characters)}"
        return f"llama.cpp/{weights_name(self.model_path)}/{how}"

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Return (r, t) natural logarithms per query, a column per token of the continuation."""
        if not queries:
            return []
        model = self._model()
        vocabulary = _Vocabulary(model.server())
        said = [continuation_tokens(query.continuation, vocabulary.tokens) for query in queries]
        logs = [np.empty((len(q.prompts), len(s))) for q, s in zip(queries, said, strict=True)]
        for query, reply, rows in zip(queries, said, logs, strict=True):
            for row, prompt in zip(rows, query.prompts, strict=True):
                row[:] = _log_probs(model, model.text(prompt), reply)
        return logs

    def ranks(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Return per query the (r,) ranks of the continuation's first token, at most
        `MOST_PROBABLE` + 1.
        """
        if not queries:
            return []
        model = self._model()
        vocabulary = _Vocabulary(model.server())
        first = [continuation_tokens(query.continuation, vocabulary.tokens)[0] for query in queries]
        return [
            np.array([_rank(model, model.text(prompt), token) for prompt in query.prompts])
            for query, token in zip(queries, first, strict=True)
        ]

    def after_texts(self, pairs: Sequence[tuple[str, str]]) -> list[FloatArray]:
        """Return per pair (text, next) the (t,) natural logarithms of the tokens of the latter.

        The texts are not prompts.
        """
        if not pairs:
            return []
        model = self._model()
        vocabulary = _Vocabulary(model.server())
        said = [tokens_behind(follows, vocabulary.tokens) for _, follows in pairs]
        return [
            np.array(_log_probs(model, text, reply), np.float64)
            for (text, _), reply in zip(pairs, said, strict=True)
        ]

    @property
    def _name(self) -> str:
        return EMBEDDED_NAME if self.model_path is None else self.model_path.stem

    def _model(self) -> LlamaCpp:
        """Return the model with the converted weights."""
        return LlamaCpp(
            converted(self.model_path or embedded_gguf(), self._name),
            slots=_SLOTS,
            context_tokens=_CONTEXT // _SLOTS,
            threads=self.threads,
            passage_characters=self.passage_characters,
            pooled=True,
        )


def continuation_tokens(text: str, tokenize: Tokenize) -> list[int]:
    """Return a reply's tokens after a prompt. Raises ModelError if there is none."""
    tokens = tokens_behind(f" {text}", tokenize)
    if not text.strip() or not tokens:
        raise ModelError("a continuation without a token has no probability")
    return tokens


def tokens_behind(text: str, tokenize: Tokenize) -> list[int]:
    """Return a text's tokens after another text.

    The text is tokenized after a colon, because tokenizers may put a space before every text.
    """
    before, joined = tokenize(":"), tokenize(f":{text}")
    return joined[len(before) :] if joined[: len(before)] == before else tokenize(text)


def _log_probs(model: LlamaCpp, text: str, reply: Sequence[int]) -> list[float]:
    """Return the logarithm of the probability of each token of a reply to a text."""
    reports = (_report(model, text, reply[:i], token, 1) for i, token in enumerate(reply))
    return [min(float(one["logprob"]), 0.0) for one in reports]


def _rank(model: LlamaCpp, text: str, token: int) -> float:
    """Return the rank of `token` among the next tokens after `text`, from 1."""
    report = _report(model, text, (), token, MOST_PROBABLE)
    own = float(report["logprob"])
    return 1.0 + sum(float(other["logprob"]) > own for other in report["top_logprobs"])


def _report(model: LlamaCpp, text: str, said: Sequence[int], token: int, count: int) -> Any:
    """Return llama.cpp's report on `token`, with the `count` most probable ones in its place."""
    prompt: list[str | int] = [text, *said]
    request = model.request(prompt, 1) | {
        "n_probs": count,
        "stop": [],
        "logit_bias": [[token, _FORCE]],
        # A prompt is read whole and alone, because batches change the last bits.
        "cache_prompt": bool(said),
    }
    match model.asked(request):
        case {"choices": [{"logprobs": {"content": [{"id": int(generated)} as report]}}]}:
            if generated == token:
                return report
        case {"error": {"message": str(message)}}:
            raise ModelError(f"llama.cpp failed: {message}")
    raise ModelError("llama.cpp returned no probability of a token")


class _Vocabulary:
    """The tokenizer of a loaded model, which llama.cpp offers on its loopback port only."""

    def __init__(self, server: Any) -> None:
        self._url = str(server.listening_address)

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, without those that begin or end every text."""
        body = {"content": text, "add_special": False, "parse_special": True}
        return [int(token) for token in self._ask("POST", "/tokenize", body)["tokens"]]

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        import httpx  # slow to import, and seldom needed

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
            raise ModelError(f"llama.cpp returned no tokens: {error}") from error
