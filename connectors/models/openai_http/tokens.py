"""Token log-probabilities of a reply, from services that return those of a prompt.

A service may ignore fields that it does not know. So a call fails unless the answer has the tokens
of the request.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

import numpy as np

from radarstream.connectors.models.openai_http.client import Budget, Client
from radarstream.connectors.models.openai_http.endpoint import Endpoint
from radarstream.connectors.models.openai_http.options import OpenAiTokenOptions
from radarstream.connectors.models.openai_http.replies import ReplyLogs, read_echo
from radarstream.connectors.models.rendering import RENDERING_VERSION, completion_text
from radarstream.schemas.errors import ModelError, ModelOutageError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import ContinuationQuery, Prompt


class OpenAiTokens:
    """A TokenScorer by a service; prompts become few-shot completions.

    It sends one request per prompt, in parallel. Calls raise ModelOutageError if the service is at
    fault, ModelError if the answer is wrong. Thread-safe; pickled as its options. `client` has the
    counts.
    """

    def __init__(self, options: OpenAiTokenOptions) -> None:
        self.options = options
        self.client = Client(options)

    def __repr__(self) -> str:
        return f"OpenAiTokens({self.model_id!r})"

    @property
    def model_id(self) -> str:
        """Service, model, parameters, and how prompts are rendered."""
        return self.client.model_id(self.options.extra_body, f"echo-{RENDERING_VERSION}")

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Return (r, t) natural logarithms per query, a column per token of the continuation."""
        if any(not query.continuation.strip() for query in queries):
            raise ModelError("a continuation without a token has no probability")
        if not queries:
            return []
        endpoint = self.client.open()
        return endpoint.submit(self._ask_all(endpoint, queries)).result()

    def close(self) -> None:
        """Close connections and thread; the next call opens new ones."""
        self.client.close()

    async def _ask_all(
        self, endpoint: Endpoint, queries: Sequence[ContinuationQuery]
    ) -> list[FloatArray]:
        """Ask for every row of every query at once. Raises the first failure, outages first."""
        found = await asyncio.gather(*(self._ask_query(endpoint, query) for query in queries))
        failed = [error for rows in found for error in rows if isinstance(error, ModelError)]
        if failed:
            raise min(failed, key=lambda error: not isinstance(error, ModelOutageError))
        return [_matrix([row for row in rows if isinstance(row, list)]) for rows in found]

    async def _ask_query(
        self, endpoint: Endpoint, query: ContinuationQuery
    ) -> list[list[float] | ModelError]:
        """Return a row or an error per prompt of the query, within its budget of time."""
        budget = Budget(self.options.deadline_s)

        async def row(prompt: Prompt) -> list[float] | ModelError:
            try:
                async with self.client.turn(endpoint, budget) as deadline:
                    text, reply = completion_text(prompt), f" {query.continuation}"
                    found = await self._logs(text, reply, endpoint, deadline)
            except ModelError as error:
                return error
            self.client.count_tokens(found.tokens_in, found.tokens_out)
            return found.logs

        return list(await asyncio.gather(*map(row, query.prompts)))

    async def _logs(self, text: str, reply: str, endpoint: Endpoint, deadline: float) -> ReplyLogs:
        """Request an echo of a prompt and the reply."""
        common = {"model": self.options.model, "temperature": 0.0, "n": 1}
        asked = {"prompt": text + reply, "echo": True, "logprobs": 1, "max_tokens": 1}
        body = common | self.options.extra_body | asked
        read = partial(read_echo, prompt=text, reply=reply)
        return await endpoint.post("/completions", body, read, deadline)


def _matrix(rows: list[list[float]]) -> FloatArray:
    """Join rows to (r, t) logarithms. Raises ModelError for different numbers of tokens."""
    if len({len(row) for row in rows}) > 1:
        raise ModelError("the service cut the same reply into tokens in different ways")
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 1)
