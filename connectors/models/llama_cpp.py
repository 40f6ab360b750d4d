"""Text generation inside this process, on the CPU, with llama.cpp (through `xllamacpp`).

The model is loaded by the first `complete` and shared by every `LlamaCpp` of equal settings in
the process; the object itself holds settings only, so it pickles.
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
_FEW: Final = 3  # prompts of one call
_CALL_SIZE: Final = 64  # prompts handed over at once: one that does not fit stops them all
API_KEY: Final = token_hex(16)  # of the loopback port that the library opens
_NEARLY_ALL: Final = 0.9  # of a prompt
# How OpenMP's threads wait for one another; the library reads it once, when it is loaded.
_WAITING: Final = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
_PREFIXES_MIB: Final = 64  # of prompts whose slot another one took: 18 KB a token
_GREEDY: Final = {"samplers": ["top_k"], "top_k": 1, "temperature": 0.0, "seed": 0}
_Arrival = tuple[Prompt, Completion | ModelError]
_TEMPLATE: Final = b"tokenizer.chat_template"
_METADATA_BYTES: Final = 2**26  # which the metadata, at the start of a file, never fill


@dataclass(frozen=True, slots=True)
class LlamaCpp:
    """A GGUF model run by llama.cpp, greedy.

    `model_path` is a GGUF file, by default the embedded weights. Prompts become chat messages where
    the weights have a chat template, few-shot completions otherwise; `chat` decides instead of the
    template, unless it is None. `slots` prompts are decoded at once, each with `context_tokens` of
    context; `threads` defaults to the physical cores this process may use; `passage_characters` are
    shown of each of several passages, by default those of the task. Raises ModelError from
    `complete` when loading or a call fails.

    Slots that are `pooled` share the context of all, so that one prompt may take it all, and a
    prompt goes back to the slot that holds nearly all of it, else to the one unused for longest.

    Decoding is greedy, but which prompts are computed together, and
    how much of a prefix is cached, changes the last bits of the logits: of 60 answers from real
    search snippets, 3 differed between one slot and four, and 2 of 30 between batched and single
    calls. The response cache makes the first result the only one.
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
        """Name and checksum of the weights, sampling, and how prompts are rendered.

        `slots` belongs to it: which prompts are decoded together changes the last bits of the
        logits.
        """
        chat, completion = f"chat-{RENDERING_VERSION}", rendering_name(self.passage_characters)
        how = f"greedy/slots={self.slots}/{chat if self.chats else completion}"
        return f"llama.cpp/{weights_name(self.model_path)}/{how}"

    @property
    def chats(self) -> bool:
        """Whether prompts become chat messages. Raises ModelError when the file cannot be read."""
        return has_chat_template(self.model_path) if self.chat is None else self.chat

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """One completion per prompt, in order; equal prompts are computed once."""
        return in_order(self.complete_each(prompts), len(prompts))

    def complete_each(self, prompts: Sequence[Prompt]) -> Iterator[Outcome]:
        """Yield each prompt's index with its outcome as soon as it is there.

        A prompt that does not fit the context is asked again with its passages cut in half, so
        that a page of rare characters costs its own text and not the snapshot. When the caller
        stops early, what has not begun is not computed.
        """
        if not prompts:
            return
        self.server()
        where = places(prompts)
        if self.chats:
            yield from self._chat_each(where)
            return
        # Sorted by text, prompts that share a prefix follow each other.
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
        """Yield outcomes as `complete_each` does, of as many conversations at once as slots."""
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
        """Report every prompt's outcome, unless told to stop."""
        for batch in split(pending, _is_full):
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
        """Ask for the batch at once, report each completion when it is there; what is left over.

        When one prompt does not fit, llama.cpp answers none.
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
        # A few are answered one after another: a second slot would first compute the prefix again.
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
        """Return what llama.cpp answers to a request. Raises ModelError."""
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
        """What the model reads."""
        return completion_text(prompt, self.passage_characters)

    def request(self, prompt: str | list[str] | list[str | int], max_tokens: int) -> dict[str, Any]:
        """What llama.cpp is asked; text and tokens may be mixed."""
        return {
            "prompt": prompt,
            "n_predict": max_tokens,
            "stop": ["\n"],
            "cache_prompt": True,
            **_GREEDY,
        }

    def server(self) -> Any:
        """The loaded model, loading on first use. Raises ModelError."""
        server = _SERVERS.get(self)
        if server is None:
            with _LOADING:
                server = _SERVERS.get(self)
                if server is None:
                    server = _SERVERS[self] = _load(self)
        return server


def _is_full(batch: list[Prompt], prompt: Prompt) -> bool:
    return len(batch) == _CALL_SIZE or batch[0].max_tokens != prompt.max_tokens


def _counted(text: str, response: dict[str, Any]) -> Completion:
    """A completion with the tokens that llama.cpp counted; 0 where it does not say."""
    match response.get("usage"):
        case {"prompt_tokens": int(asked), "completion_tokens": int(told)}:
            return Completion(text, asked, told)
    return Completion(text)


@cache
def has_chat_template(gguf: Path | None) -> bool:
    """Whether weights have a chat template; None stands for the embedded ones, which have none.

    Raises ModelError when the file cannot be read.
    """
    if gguf is None:
        return False
    try:
        with gguf.open("rb") as stream:
            return _TEMPLATE in stream.read(_METADATA_BYTES)
    except OSError as error:
        raise ModelError(f"cannot read {gguf}: {error.strerror}") from error


def physical_cores() -> int:
    """Physical cores this process may run on; at least 1."""
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
    """llama.cpp, whose threads sleep while they wait for one another, unless the environment says
    how they wait: spinning beside other work multiplies their CPU time. Raises ConfigurationError.
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
    # Sliding-window layers forget the shared prefix unless they keep their full cache.
    params.swa_full = True
    params.cpuparams.n_threads = settings.threads or physical_cores()
    params.cpuparams_batch.n_threads = settings.threads or physical_cores()
    params.n_gpu_layers = 0
    params.fit_params = False
    # Two kinds of prompts take turns, and each finds its prefix again; few-shot prompts only.
    params.cache_ram_mib = 0 if settings.chats else _PREFIXES_MIB
    params.kv_unified = settings.pooled
    if settings.pooled:
        params.slot_prompt_similarity = _NEARLY_ALL
    params.warmup = False
    params.verbosity = -1
    # The library opens a loopback port of its own, which nobody else is to use.
    params.ui = False
    params.endpoint_slots = False
    params.api_keys = [API_KEY]
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"llama.cpp cannot load {path}: {error}") from error
