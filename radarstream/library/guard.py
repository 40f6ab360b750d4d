"""The guard for programs: questions and documents in, defended answers out."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from radarstream.connectors.closing import Closing
from radarstream.schemas.errors import RadarstreamError

if TYPE_CHECKING:  # these take a second to import; the first guard imports them
    from radarstream.library.answers import Answer, Checked
    from radarstream.library.questions import Asked, Question
    from radarstream.pipelines.settings import Settings


class Guard(Closing):
    """Answers questions from documents that may lie, and remembers its answers.

    Each answer updates the memory of its question, so ask in the order of time. Threads may share
    a guard: one call runs at a time. Processes may share its database. Use a guard as a context
    manager or call `close`.

    Parameters
    ----------
    model, base_url
        A model of an OpenAI-compatible service. The environment variable OPENAI_API_KEY has its
        key, which is optional with `base_url`. Without both parameters, the embedded models answer,
        without a network.
    memory
        Database of the memory: a SQLAlchemy URL (`sqlite:///m.db`, `postgresql://user@host/name`)
        or the path of a SQLite file. Without it, a closed guard forgets everything.
    defense
        Name of the defence: voices, radar, reliability_rag, …
    withstand
        How many of the sites that are read may lie without a false answer: 0 or more, default 1.
    profile
        Named set of models: embedded (the default), api or scripted (rules, for tests).
    settings
        Settings, or the path of a TOML file with settings. The other parameters override them.
    reranker, keep
        Name of a reranker, for example grada, that passes at most `keep` documents of a question
        on to the defence; "" for none.

    Raises
    ------
    ConfigurationError
        If a setting, a model or the database cannot be used; the message says what to do.

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
        compares = "compare_with" in read_environment().get("defense", {})
        if settings is None and not compares:  # the undefended answer costs a long prompt
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
        """Answer one question.

        Parameters
        ----------
        question
            1 to 2,000 characters.
        documents
            The best first: strings, mappings with `text`, files and folders (`Path`), bytes and
            addresses (`Given`), or documents of LangChain, LlamaIndex or Haystack.
        at
            When the documents were found, with a time zone; by default now.
        id
            Key of the memory; by default the words of the question.
        withstand
            Replaces the `withstand` of the guard for this question.

        Raises
        ------
        ModelError
            If a model fails.
        InputError
            If the documents are not newer than the memory, or are too many.
        DocumentError
            If no document can be read.
        TypeError, ValueError
            For wrong arguments, for example documents without text.
        RuntimeError
            After `close`.

        >>> with Guard(profile="scripted") as guard:
        ...     pages = ["Lima is the capital.", {"text": "Lima is its capital."}]
        ...     guard.answer("What is the capital?", pages, id="peru", withstand=1).text
        'Lima'
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
        """Say whether documents support or refute a claim.

        The claim becomes a question, which is answered as by `answer`, with the same parameters and
        errors. Raises ClaimError if the claim cannot be checked in its wording.

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
        """Answer many questions in batches; the answers are in the order of the questions.

        A question is a `Question`, or a pair of question and documents. A question that occurs
        again is answered with the memory of its earlier answer. If some questions fail, the others
        are answered and remembered before the first error is raised. Raises what `answer` raises.

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
        """Answer many questions as `answer_many`, but return each RadarstreamError in its place.

        >>> with Guard(profile="scripted") as guard:
        ...     [str(one) for one in guard.try_many([("What is the capital?", ["Lima."] * 201)])]
        ['too_many_documents: 201 documents, the limit is 200 (limits.documents)']
        """
        return self._answering.try_many(questions)

    def close(self) -> None:
        """Close the database. Without `memory`, all answers are forgotten.

        >>> guard = Guard(profile="scripted")
        >>> guard.close()
        """
        self._answering.close()
        if self._scratch is not None:
            self._scratch.cleanup()
