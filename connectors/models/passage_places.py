"""Where the passages of a prompt stand in the text that a model reads."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import Prompt

Span = tuple[int, int]  # characters, start and stop
# A private-use character around a number: no rendering changes it, and no prompt has it.
_MARK: Final = re.compile("\ue000([0-9]+)\ue000")


def passage_places(prompt: Prompt, render: Callable[[Prompt], str]) -> tuple[str, list[Span]]:
    r"""The text of a prompt, and the span of each passage in it, in the order of the prompt.

    `render` is asked twice, once with a mark in place of every passage: what stands between two
    marks stands between the passages, too. It has line breaks, which no rendered passage has, so
    that a passage cannot pretend to end. Raises ModelError where a passage is not found.

    >>> from radarstream.schemas.prompt import Task
    >>> prompt = Prompt(Task.BARE_TEXT, "", (), "", ("one", "two"), 1)
    >>> passage_places(prompt, lambda p: "\n".join(["A:", *reversed(p.passages), "B"]))
    ('A:\ntwo\none\nB', [(7, 10), (3, 6)])
    """
    marks = tuple(f"\ue000{place}\ue000" for place in range(len(prompt.passages)))
    pieces = _MARK.split(render(replace(prompt, passages=marks)))
    between, order = pieces[::2], [int(place) for place in pieces[1::2]]
    text = render(prompt)
    if sorted(order) != list(range(len(marks))) or not text.startswith(between[0]):
        raise ModelError("the passages of a prompt are not in the text that the model reads")
    spans: list[Span] = [(0, 0)] * len(marks)
    at = len(between[0])
    for place, behind in zip(order, between[1:], strict=True):
        last = place == order[-1]
        stop = len(text) - len(behind) if last else text.find(behind, at)
        if stop < at or not text.startswith(behind, stop):
            raise ModelError(f"passage {place + 1} of a prompt is not where it should be")
        spans[place] = (at, stop)
        at = stop + len(behind)
    return text, spans
