"""Defended answers from documents and web searches that may lie.

>>> from radarstream import Guard
>>> guard = Guard(profile="scripted")  # without a profile: the embedded models
>>> answer = guard.answer(
...     "What is the capital of Peru?",
...     ["Lima is the capital.", "Lima is its capital.", "Cusco is its capital."],
... )
>>> answer.text, answer.rejected[0].rank
('Lima', 3)

Names are imported on first use, so that `import radarstream` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from radarstream.library.answers import Answer, Checked, JudgedDocument
    from radarstream.library.concurrent import AsyncGuard
    from radarstream.library.guard import Guard
    from radarstream.library.questions import Question
    from radarstream.pipelines.documents import Given

    __version__: str

_HOMES: Final = {
    "Answer": "answers",
    "AsyncGuard": "concurrent",
    "Checked": "answers",
    "Given": "documents",
    "Guard": "guard",
    "JudgedDocument": "answers",
    "Question": "questions",
}

__all__ = [
    "Answer",
    "AsyncGuard",
    "Checked",
    "Given",
    "Guard",
    "JudgedDocument",
    "Question",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    value: Any
    if name == "__version__":
        value = import_module("importlib.metadata").version(__name__)
    elif name in _HOMES:
        value = getattr(import_module(f"radarstream.library.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, also those that are not imported yet."""
    return sorted({*globals(), *__all__})
