"""Token log-probabilities of a reply, from services that return those of a prompt.

A service may ignore what it does not know and answer something else, so nothing is believed
unchecked: every answer must show the tokens that were asked about, or the call fails.
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
    """Asks how probable a reply is; prompts become few-shot completions.

    One request per prompt, many in flight. Raises ModelOutageError when the service is at fault
    and ModelError when it does not return what was asked, from every call. Usable from several
    threads. Pickles as its options. `client` counts what was asked.
    """

    def __init__(self, options: OpenAiTokenOptions) -> None:
        self.options = options
        self.client = Client(options)

    def __repr__(self) -> str:
        return f"OpenAiTokens({self.model_id!r})"

    @property
    def model_id(self) -> str:
        """Service, model, how it is asked, and how prompts are rendered."""
        return self.client.model_id(self.options.extra_body, f"echo-{RENDERING_VERSION}")

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Per query (r, t) natural logarithms, a column per token of its continuation."""
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
        """Ask for every row of every query at once. Raises what failed, an outage first."""
        found = await asyncio.gather(*(self._ask_query(endpoint, query) for query in queries))
        failed = [error for rows in found for error in rows if isinstance(error, ModelError)]
        if failed:
            raise min(failed, key=lambda error: not isinstance(error, ModelOutageError))
        return [_matrix([row for row in rows if isinstance(row, list)]) for rows in found]

    async def _ask_query(
        self, endpoint: Endpoint, query: ContinuationQuery
    ) -> list[list[float] | ModelError]:
        """One row, or why there is none, per prompt of the query; they share its time."""
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
        """Have a prompt with the reply behind it echoed."""
        common = {"model": self.options.model, "temperature": 0.0, "n": 1}
        asked = {"prompt": text + reply, "echo": True, "logprobs": 1, "max_tokens": 1}
        body = common | self.options.extra_body | asked
        read = partial(read_echo, prompt=text, reply=reply)
        return await endpoint.post("/completions", body, read, deadline)


def _matrix(rows: list[list[float]]) -> FloatArray:
    """(r, t) logarithms; the service may not cut the same reply differently."""
    if len({len(row) for row in rows}) > 1:
        raise ModelError("the service cut the same reply into tokens in different ways")
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 1)
