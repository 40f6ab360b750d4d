"""Text generation in this process, on the CPU, by llama.cpp (library `xllamacpp`).

The first `complete` loads the model, which all `LlamaCpp` of equal settings in the process share.
The object has settings only and can be pickled.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from secrets import token_hex
from threading import Event, Lock
from typing import Any, Final

from radarstream.connectors.models.batching import Outcome, in_order, places, split
from radarstream.connectors.models.gguf_weights import embedded_gguf, weights_name
from radarstream.connectors.models.openai_http.replies import read_completion
from radarstream.connectors.models.rendering import (
    RENDERING_VERSION,
    chat_messages,
    completion_text,
    ever_shorter,
    rendering_name,
)
from radarstream.schemas.errors import ModelError
from radarstream.schemas.plugins import naming_extra
from radarstream.schemas.prompt import Completion, Prompt

# One server per settings for the life of the process: loading costs a second and 400 MB.
_SERVERS: Final[dict["LlamaCpp", Any]] = {}
_LOADING: Final = Lock()
_FEW: Final = 3  # prompts of one call that one slot answers
_CALL_SIZE: Final = 64  # prompts of one call; one that does not fit fails them all
API_KEY: Final = token_hex(16)  # of the loopback port that the library opens
_NEARLY_ALL: Final = 0.9  # share of a prompt in a slot at which the slot is used again
# How OpenMP's threads wait for one another; the library reads it when it is loaded.
_WAITING: Final = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
_PREFIXES_MIB: Final = 64  # cache of prompts that lost their slot: 18 KB per token
_GREEDY: Final = {"samplers": ["top_k"], "top_k": 1, "temperature": 0.0, "seed": 0}
_Arrival = tuple[Prompt, Completion | ModelError]
_TEMPLATE: Final = b"tokenizer.chat_template"
_METADATA_BYTES: Final = 2**26  # more than the metadata at the start of a file


@dataclass(frozen=True, slots=True)
class LlamaCpp:
    """A GGUF model run by llama.cpp, greedy.

    `model_path` is a GGUF file, by default the embedded weights. Prompts become chat messages if
    `chat`, by default if the weights have a chat template, else few-shot completions. `slots`
    prompts are decoded at once, each with `context_tokens` of context; `threads` defaults to the
    physical cores of this process; each of several passages is cut to `passage_characters`, by
    default those of the task. `complete` raises ModelError if loading or a call fails.

    With `pooled`, slots share their context, so that one prompt may use all of it; a prompt takes
    the slot that has nearly all of it, else the one unused for longest.

    Decoding is greedy, but batches and cached prefixes change the last bits of the logits: of 60
    answers from real search snippets, 3 differed between one slot and four, and 2 of 30 between
    batched and single calls. The response cache keeps the first result.
    """

    model_path: Path | None = None
    slots: int = 2
    context_tokens: int = 4096
    threads: int | None = None
    passage_characters: int | None = None
    pooled: bool = False
    chat: bool | None = None

    @property
    def model_id(self) -> str:
        """Name and checksum of the weights, sampling, `slots`, and how prompts are rendered."""
        chat, completion = f"chat-{RENDERING_VERSION}", rendering_name(self.passage_characters)
        how = f"greedy/slots={self.slots}/{chat if self.chats else completion}"
        return f"llama.cpp/{weights_name(self.model_path)}/{how}"

    @property
    def chats(self) -> bool:
        """Whether prompts become chat messages. Raises ModelError for an unreadable file."""
        return has_chat_template(self.model_path) if self.chat is None else self.chat

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order; equal prompts are computed once."""
        return in_order(self.complete_each(prompts), len(prompts))

    def complete_each(self, prompts: Sequence[Prompt]) -> Iterator[Outcome]:
        """Yield each prompt's index with its outcome, as soon as it is ready.

        A prompt that exceeds the context is tried again with its passages cut in half, so that a
        page of rare characters does not fail the snapshot. If the caller stops early, prompts that
        have not begun are not computed.
        """
        if not prompts:
            return
        self.server()
        where = places(prompts)
        if self.chats:
            yield from self._chat_each(where)
            return
        # Sorted by text, so that prompts with a common prefix follow each other.
        ordered = sorted(where, key=lambda prompt: (prompt.max_tokens, self.text(prompt)))
        arrived: SimpleQueue[_Arrival | None] = SimpleQueue()
        abandoned = Event()
        pool = ThreadPoolExecutor(1, "llama.cpp")
        try:
            asking = pool.submit(self._ask_all, ordered, arrived.put, abandoned.is_set)
            asking.add_done_callback(lambda _: arrived.put(None))
            while (arrival := arrived.get()) is not None:
                prompt, outcome = arrival
                yield from ((index, outcome) for index in where[prompt])
            asking.result()
        finally:
            abandoned.set()
            pool.shutdown()

    def _chat_each(self, where: dict[Prompt, list[int]]) -> Iterator[Outcome]:
        """Yield outcomes as `complete_each`, with one conversation per slot at a time."""
        pool = ThreadPoolExecutor(self.slots, "llama.cpp")
        asked = {pool.submit(self._chat, prompt): indices for prompt, indices in where.items()}
        try:
            for future in as_completed(asked):
                failure = future.exception()
                if failure is not None and not isinstance(failure, ModelError):
                    raise failure
                yield from ((index, failure or future.result()) for index in asked[future])
        finally:
            pool.shutdown(cancel_futures=True)

    def _chat(self, prompt: Prompt) -> Completion:
        """Ask in a conversation, halving the passages until it fits the context."""
        for shorter in ever_shorter(prompt):
            request = {"messages": chat_messages(shorter), "max_tokens": prompt.max_tokens}
            response = self._answered("handle_chat_completions", request | _GREEDY)
            match response:
                case {"error": {"type": "exceed_context_size_error"}}:
                    continue
                case {"error": {"message": str(message)}}:
                    raise ModelError(f"llama.cpp failed: {message}")
            return read_completion(json.dumps(response).encode(), shorter)
        raise ModelError(f"prompt does not fit {self.context_tokens} tokens of context")

    def _ask_all(
        self, pending: list[Prompt], report: Callable[[_Arrival], None], stop: Callable[[], bool]
    ) -> None:
        """Report every prompt's outcome, until `stop` is true."""

        def is_full(batch: list[Prompt], prompt: Prompt) -> bool:
            return len(batch) == _CALL_SIZE or batch[0].max_tokens != prompt.max_tokens

        for batch in split(pending, is_full):
            if stop():
                return
            for prompt in self._stream(batch, report, stop):
                if stop():
                    return
                try:
                    report((prompt, self._request_fitting(prompt)))
                except ModelError as error:
                    report((prompt, error))

    def _stream(
        self, batch: list[Prompt], report: Callable[[_Arrival], None], stop: Callable[[], bool]
    ) -> list[Prompt]:
        """Ask for a batch at once, and report each completion when it is ready.

        Returns the prompts without one: if one prompt does not fit, llama.cpp answers none.
        """
        texts: dict[int, str] = dict.fromkeys(range(len(batch)), "")

        def receive(chunk: Any) -> bool:
            for choice in chunk.get("choices", ()) if isinstance(chunk, dict) else ():
                index = choice["index"]
                texts[index] += choice["text"]
                if choice["finish_reason"] is not None:
                    report((batch[index], _counted(texts.pop(index), chunk)))
            return stop()

        request = self.request([self.text(prompt) for prompt in batch], batch[0].max_tokens)
        # A few prompts share one slot, because a second one would compute the prefix again.
        alone = {"id_slot": 0} if 1 < len(batch) <= _FEW else {}
        self.asked(request | alone | {"stream": True}, receive)
        return [batch[index] for index in texts]

    def _request_fitting(self, prompt: Prompt) -> Completion:
        """Ask for one prompt, halving its passages until it fits the context."""
        for shorter in ever_shorter(prompt):
            response = self.asked(self.request(self.text(shorter), prompt.max_tokens))
            match response:
                case {"choices": [{"text": str(reply)}]}:
                    return _counted(reply, response)
                case {"error": {"type": "exceed_context_size_error"}}:
                    continue
                case {"error": {"message": str(message)}}:
                    raise ModelError(f"llama.cpp failed: {message}")
            raise ModelError("llama.cpp returned something that is not a completion")
        raise ModelError(f"prompt does not fit {self.context_tokens} tokens of context")

    def asked(self, request: dict[str, Any], *receive: Callable[[Any], bool]) -> Any:
        """Send a request to llama.cpp and return the response. Raises ModelError."""
        return self._answered("handle_completions", request, *receive)

    def _answered(
        self, method: str, request: dict[str, Any], *receive: Callable[[Any], bool]
    ) -> Any:
        server = self.server()
        try:
            return getattr(server, method)(request, *receive)
        except RuntimeError as error:
            raise ModelError(f"llama.cpp refused a request: {error}") from error

    def text(self, prompt: Prompt) -> str:
        """Return the prompt as text."""
        return completion_text(prompt, self.passage_characters)

    def request(self, prompt: str | list[str] | list[str | int], max_tokens: int) -> dict[str, Any]:
        """Return a request to llama.cpp; a prompt may mix text and tokens."""
        return {
            "prompt": prompt,
            "n_predict": max_tokens,
            "stop": ["\n"],
            "cache_prompt": True,
            **_GREEDY,
        }

    def server(self) -> Any:
        """Return the model, loading it on first use. Raises ModelError."""
        server = _SERVERS.get(self)
        if server is None:
            with _LOADING:
                server = _SERVERS.get(self)
                if server is None:
                    server = _SERVERS[self] = _load(self)
        return server


def _counted(text: str, response: dict[str, Any]) -> Completion:
    """Return a completion with llama.cpp's token counts, 0 if missing."""
    match response.get("usage"):
        case {"prompt_tokens": int(read), "completion_tokens": int(written)}:
            return Completion(text, read, written)
    return Completion(text)


@cache
def has_chat_template(gguf: Path | None) -> bool:
    """Whether weights have a chat template; None means the embedded ones, which have none.

    Raises ModelError for an unreadable file.
    """
    if gguf is None:
        return False
    try:
        with gguf.open("rb") as stream:
            return _TEMPLATE in stream.read(_METADATA_BYTES)
    except OSError as error:
        raise ModelError(f"cannot read {gguf}: {error.strerror}") from error


def physical_cores() -> int:
    """Return the number of physical cores that this process may use; at least 1."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    siblings = set()
    for cpu in allowed:
        topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            siblings.add(topology.read_text().strip())
        except OSError:
            siblings.add(str(cpu))
    return len(siblings) or os.cpu_count() or 1


def _library() -> Any:
    """Import llama.cpp, with threads that sleep while they wait, unless the environment says
    otherwise: spinning beside other work multiplies their CPU time. Raises ConfigurationError.
    """
    unset = not any(name in os.environ for name in _WAITING)
    try:
        if unset:
            os.environ[_WAITING[0]] = "passive"
        with naming_extra():
            import xllamacpp
    finally:
        if unset:
            del os.environ[_WAITING[0]]
    return xllamacpp


def _load(settings: LlamaCpp) -> Any:
    xllamacpp = _library()
    path = settings.model_path or embedded_gguf()
    if not path.is_file():
        raise ModelError(f"no model file at {path}")
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_parallel = settings.slots
    params.n_ctx = settings.slots * settings.context_tokens
    params.n_batch = 2048
    params.n_ubatch = 512
    # Without their full cache, sliding-window layers lose the shared prefix.
    params.swa_full = True
    params.cpuparams.n_threads = settings.threads or physical_cores()
    params.cpuparams_batch.n_threads = settings.threads or physical_cores()
    params.n_gpu_layers = 0
    params.fit_params = False
    # For few-shot prompts: two kinds of prompts alternate, and each finds its prefix again.
    params.cache_ram_mib = 0 if settings.chats else _PREFIXES_MIB
    params.kv_unified = settings.pooled
    if settings.pooled:
        params.slot_prompt_similarity = _NEARLY_ALL
    params.warmup = False
    params.verbosity = -1
    # Nobody else may use the loopback port that the library opens.
    params.ui = False
    params.endpoint_slots = False
    params.api_keys = [API_KEY]
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"llama.cpp cannot load {path}: {error}") from error
