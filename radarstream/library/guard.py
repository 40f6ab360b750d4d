"""A guard for programs: questions and documents in, defended answers out, memory in a database."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from radarstream.connectors.closing import Closing
from radarstream.schemas.errors import RadarstreamError

if TYPE_CHECKING:  # what answers takes a second to import: the first guard does
    from radarstream.library.answers import Answer, Checked
    from radarstream.library.questions import Asked, Question
    from radarstream.pipelines.settings import Settings


class Guard(Closing):
    """Answers questions from documents that may lie, and remembers its answers.

    Each answer updates the memory of its question, so ask in the order of time. Several threads
    may use one guard and take turns; several processes may share one database.

    Parameters
    ----------
    model, base_url
        A model behind an OpenAI-compatible service. Its key is read from the environment variable
        OPENAI_API_KEY; a service that you name by `base_url` may want none. Without either, the
        embedded models answer, and no network is asked.
    memory
        Database of the memory: a SQLAlchemy URL (`sqlite:///m.db`, `postgresql://user@host/name`)
        or the path of a SQLite file. Without it, a closed guard forgets everything.
    defense
        Name of the defence: voices, radar, reliability_rag, …
    withstand
        How many of the sites that are read may lie without a false answer, by default 1.
    profile
        Which models answer by default: embedded, api or scripted (rules, for tests).
    settings
        Settings, or a TOML file of them. The other parameters win.
    reranker, keep
        Name of the reranker that chooses at most `keep` of the documents of a question before the
        defence sees them: prog_rank, …; "" for none.

    Raises
    ------
    ConfigurationError
        Where a setting, a model or the database cannot be used; the message says what to do.

    Examples
    --------
    >>> says = ["Lima is the capital.", "Lima is its capital.", "Cusco is its capital."]
    >>> with Guard(profile="scripted") as guard:
    ...     answer = guard.answer("What is the capital of Peru?", says)
    >>> answer.text, [judged.kept for judged in answer.documents]
    ('Lima', [True, True, False])
    """

    def __init__(
        self,
        *,
        model: str | None = None,
        base_url: str | None = None,
        memory: str | Path | None = None,
        defense: str | None = None,
        withstand: int | None = None,
        profile: str | None = None,
        settings: "Settings | str | Path | None" = None,
        reranker: str | None = None,
        keep: int | None = None,
    ) -> None:
        from radarstream.library.answering import Answering
        from radarstream.library.parameters import chosen, database_url, settings_with
        from radarstream.pipelines.settings.loading import read_environment

        self._scratch: TemporaryDirectory[str] | None = None
        if memory is None:
            self._scratch = TemporaryDirectory(prefix="radarstream-")
            memory = Path(self._scratch.name) / "memory.db"
        flags = chosen(model, base_url, defense, profile) | {"database": database_url(memory)}
        asked_for = "compare_with" in read_environment().get("defense", {})
        if settings is None and not asked_for:  # nobody reads it, and it costs a long prompt
            flags["defense"] = flags.get("defense", {}) | {"compare_with": ""}
        if withstand is not None:
            flags["defense"] = flags.get("defense", {}) | {"withstand": withstand}
        retrieval = {"name": reranker, "keep": keep}
        flags["retrieval"] = {name: v for name, v in retrieval.items() if v is not None}
        self.settings = settings_with(settings, flags)
        self._answering = Answering(self.settings)

    def answer(
        self,
        question: str,
        documents: Iterable[Any],
        *,
        at: datetime | None = None,
        id: str | None = None,  # noqa: A002 the word of the wire format
        withstand: int | None = None,
    ) -> "Answer":
        """Answer one question from documents, the best first.

        `documents` are strings, mappings, files and folders (`Path`), bytes and addresses
        (`Given`), or documents of LangChain, LlamaIndex or Haystack, see
        `radarstream.library.documents`. `at` is when they were found, by default now. `id` keys
        the memory, by default the question's own words. `withstand` is for this question alone.
        Raises ModelError where a model does not answer, InputError for documents that are not
        newer than the memory, DocumentError for one that cannot be read, TypeError for documents
        without text, RuntimeError after `close`.
        """
        from radarstream.library.questions import Question

        return self.answer_many([Question(question, documents, at, id, withstand)])[0]

    def check(
        self,
        claim: str,
        documents: Iterable[Any],
        *,
        at: datetime | None = None,
        withstand: int | None = None,
    ) -> "Checked":
        """Check a claim against documents, as `answer` answers the question that it answers.

        Parameters and errors are those of `answer`, and ClaimError for a claim that cannot be
        checked as it is worded.

        >>> with Guard(profile="scripted") as guard:
        ...     pages = ["Lima is the capital of Peru.", "The capital of Peru is Lima."]
        ...     guard.check("Lima is the capital of Peru.", pages).verdict.value
        'supported'
        """
        from radarstream.library.questions import Question

        return self._answering.check(Question(claim, documents, at, withstand=withstand))

    def answer_many(
        self, questions: "Iterable[Question | tuple[str, Iterable[Any]]]"
    ) -> "list[Answer]":
        """Answer many questions with few calls of each model; answers keep the order.

        Give `Question`s, or pairs of question and documents. The same question may occur again:
        its later documents meet the memory of the earlier ones. Where some fail, the others are
        answered and remembered before the first error is raised; `try_many` returns the errors.

        >>> pages = ["Lima is the capital.", "Lima is its capital."]
        >>> with Guard(profile="scripted") as guard:
        ...     [one.text for one in guard.answer_many([("What is the capital?", pages)])]
        ['Lima']
        """
        answers = []
        for outcome in self.try_many(questions):
            if isinstance(outcome, RadarstreamError):
                raise outcome
            answers.append(outcome)
        return answers

    def try_many(
        self, questions: "Iterable[Asked | Question | tuple[str, Iterable[Any]]]"
    ) -> "list[Answer | RadarstreamError]":
        """Answer many questions; an error stands in the place of an answer that failed."""
        return self._answering.try_many(questions)

    def close(self) -> None:
        """Close the database; without `memory`, forget everything."""
        self._answering.close()
        if self._scratch is not None:
            self._scratch.cleanup()
