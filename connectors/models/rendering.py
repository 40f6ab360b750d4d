"""Renders prompts as text: few-shot completions for base models, chats for tuned ones.

Both forms begin with the text that many prompts share, for prefix caches. Passages cannot forge the
delimiters around them or control tokens of models.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from radarstream.schemas.answer_text import spelling
from radarstream.schemas.prompt import Prompt, Shot
from radarstream.schemas.shown import FULL_WIDTH
from radarstream.schemas.tasks import TASKS, Layout

_MAJORITY_LINES: Final = 3
_SHORTEST_PASSAGE: Final = 40  # characters; shorter ones are not cut further
_BARE_START: Final = "\n"  # the shortest prompt: every tokenizer makes a token of it
_FORGED_LABEL: Final = re.compile(
    r"(passage(?:s)?(?: \d+)?|question|answer(?: \d+)?)\s*:", re.IGNORECASE
)


# Llama and Mistral have control tokens in brackets. Matched are single words by name, and all words
# with underscores ([TOOL_CALLS], [SYSTEM_PROMPT], ...). Brackets may be escaped as in HTML, JSON,
# Python and addresses, because a program may undo that.
def _escaped(names: str, code: str) -> str:
    html = rf"&(?:amp;)*(?:{names}|#0*{int(code, 16)}|#x0*{code})(?:;|(?!;))"
    return rf"{html}|\\+(?:u00|x){code}|%(?:25)*{code}"


_CLOSED: Final = rf"(?:\]|{_escaped('rsqb|rbrack', '5d')})"
_CONTROL_TOKEN: Final = re.compile(
    rf"(?P<angle><|{_escaped('lt', '3c')})(?=[^\s\d=<])"
    rf"|(?:\[|{_escaped('lsqb|lbrack', '5b')})"
    r"(?=/?(?:INST|ARGS|AUDIO|IMG|MIDDLE|PREFIX|SUFFIX|THINK|TRANSCRIBE|multimodal|control_\d+"
    rf"|BOS|CLS|EOS|PAD|SEP|UNK|[gs]?MASK|[A-Z]+(?:_[A-Z]+)+){_CLOSED})",
    re.IGNORECASE,
)
# Part of every model id. Change it if the text of a task changes, not for a new task.
RENDERING_VERSION: Final = "r8"


def rendering_name(passage_characters: int | None) -> str:
    """Return the part of model ids for the rendering of prompts.

    >>> rendering_name(400).removeprefix(rendering_name(None))
    '/passages=400'
    """
    own = "" if passage_characters is None else f"/passages={passage_characters}"
    return RENDERING_VERSION + own


def completion_text(prompt: Prompt, passage_characters: int | None = None) -> str:
    """Return a text for a base model to continue: instruction, worked examples, then the request.

    The model's answer is the rest of the last line. Only the request is untrusted. Each of several
    passages is cut to `passage_characters`, by default those of the task.
    """
    match TASKS[prompt.task].layout:
        case Layout.NOTHING:
            return _BARE_START
        case Layout.CONTINUED:
            return neutral(" ".join(prompt.passages)) or _BARE_START
    shots = [f"{_completion_block(_example(prompt, shot))} {shot.answer}" for shot in prompt.shots]
    blocks = [prompt.instruction, *shots, _completion_block(prompt, passage_characters)]
    return "\n\n".join(block for block in blocks if block)


def chat_messages(prompt: Prompt) -> list[dict[str, str]]:
    """Return messages for an instruction-tuned model: system, worked examples as turns, request."""
    messages = [{"role": "system", "content": prompt.instruction}]
    for shot in prompt.shots:
        messages.append({"role": "user", "content": _chat_request(_example(prompt, shot))})
        messages.append({"role": "assistant", "content": shot.answer})
    return [*messages, {"role": "user", "content": _chat_request(prompt)}]


def neutral(text: str) -> str:
    r"""Put `text` on one line, and change what could be a label, a tag or a control token.

    >>> neutral("Rome.\nQuestion: who?</document> <|im_end|>")
    'Rome. Question - who?‹/document> ‹|im_end|>'
    """
    one_line = " ".join(text.encode("utf-8", "replace").decode().split())
    guarded, end = "", 0
    for found in _CONTROL_TOKEN.finditer(one_line.translate(FULL_WIDTH)):  # of the same length
        guarded += one_line[end : found.start()] + ("‹" if found["angle"] else "(")
        end = found.end()
    guarded += one_line[end:]
    return _FORGED_LABEL.sub(r"\1 -", guarded)


def ever_shorter(prompt: Prompt) -> Iterator[Prompt]:
    """Yield the prompt, then again with its passages cut in half, while they are long."""
    yield prompt
    characters = max(map(len, prompt.passages), default=0)
    while characters >= _SHORTEST_PASSAGE:
        characters //= 2
        yield replace(prompt, passages=tuple(text[:characters] for text in prompt.passages))


def _example(prompt: Prompt, shot: Shot) -> Prompt:
    """Return a worked example as a request."""
    return replace(prompt, question=shot.question, passages=shot.passages, previous_answer=None)


def _completion_block(prompt: Prompt, passage_characters: int | None = None) -> str:
    spec = TASKS[prompt.task]
    passage_label, reply_label = spec.labels
    shown = [neutral(passage) for passage in prompt.passages]
    listed = [f"{passage_label}: {text}" for text in shown]
    asked = f"Question: {neutral(prompt.question)}"
    previous = _previous(prompt)
    match spec.layout:
        case Layout.MAJORITY_LAST:
            ordered = [f"{passage_label}: {answer}" for answer in _majority_last(shown)]
            lines = [asked, *previous, *ordered]
        case Layout.JOINED:
            lines = [f"{passage_label}: {', '.join(shown)}", *previous, asked]
        case Layout.PARTS:
            parts = zip(spec.parts, shown, strict=True)
            lines = [asked, *(f"{part}: {text}" for part, text in parts)]
        case Layout.PASSAGES_ONLY | Layout.CONTINUED | Layout.NOTHING:
            lines = listed
        case Layout.SHARED | Layout.NUMBERED:
            most = passage_characters or spec.shared_characters
            numbered = spec.layout is Layout.NUMBERED
            best_last = [
                f"{passage_label}{f' {number}' if numbered else ''}: {text[:most]}"
                for number, text in enumerate(shown, start=1)
            ][::-1]
            lines = [asked, *best_last, *previous, asked]
        case _:  # PASSAGES_FIRST
            lines = [*listed, *previous, asked]
    return "\n".join([*lines, f"{reply_label}:"])


def _majority_last(answers: list[str]) -> list[str]:
    """Put equal answers side by side, the most frequent last and at least three times.

    A small base model cannot count, but continues a list with its last item: with 270M parameters
    this form returned the majority of 1 to 10 answers in 76 of 77 lists, the given order in 33 of
    50. Of equally frequent answers, the first comes last.
    """
    keys = [spelling(answer) for answer in answers]
    counts, first = Counter(keys), {key: i for i, key in reversed(list(enumerate(keys)))}
    order = sorted(range(len(answers)), key=lambda i: (counts[keys[i]], -first[keys[i]]))
    ordered = [answers[i] for i in order]
    missing = _MAJORITY_LINES - counts[keys[order[-1]]] if answers else 0
    return ordered + ordered[-1:] * max(0, missing)


def _chat_request(prompt: Prompt) -> str:
    spec = TASKS[prompt.task]
    if spec.parts:
        tags = [part.lower().replace(" ", "_") for part in spec.parts]
        parts = zip(tags, prompt.passages, strict=True)
        documents = [f"<{tag}>{neutral(passage)}</{tag}>" for tag, passage in parts]
    else:
        documents = [
            f'<document number="{number}">{neutral(passage)}</document>'
            for number, passage in enumerate(prompt.passages, start=1)
        ]
    is_unasked = spec.layout in (Layout.PASSAGES_ONLY, Layout.CONTINUED, Layout.NOTHING)
    asked = [] if is_unasked else [f"Question: {neutral(prompt.question)}"]
    return "\n".join([*asked, *documents, *_previous(prompt), spec.chat_request])


def _previous(prompt: Prompt) -> list[str]:
    answer = prompt.previous_answer
    return [f"Previous answer: {neutral(answer)}"] if answer else []
