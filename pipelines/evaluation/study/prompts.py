"""What rows depend on beside their own code: the wording of prompts, the versions of packages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version

from radarstream.pipelines.signals.ports import Generator, Models, TokenScorer
from radarstream.pipelines.signals.prompts import TEMPLATES
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Completion, Prompt, Task
from radarstream.schemas.tokens import ContinuationQuery, NextTokenQuery, NextTokenRows

PACKAGES = ("radarstream", "numpy", "ortools", "pydantic", "sentence-transformers", "torch",
            "transformers", "xllamacpp")  # fmt: skip


def prompt_digests() -> dict[str, str]:
    """What identifies the wording of each task."""
    return {
        task.value: sha256(repr(template).encode()).hexdigest()[:12]
        for task, template in TEMPLATES.items()
    }


@dataclass
class UsedPrompts:
    """A generator that tells the first use of each task, before the prompts are asked."""

    inner: Generator
    tell: Callable[[Task], None]
    tasks: set[Task] = field(default_factory=set)

    @property
    def model_id(self) -> str:
        """The wrapped model's."""
        return self.inner.model_id

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """One completion per prompt, in order. Raises ModelError like the wrapped model."""
        for task in {prompt.task for prompt in prompts} - self.tasks:
            self.tasks.add(task)
            self.tell(task)
        return self.inner.complete(prompts)


@dataclass
class UsedTokenPrompts:
    """A token scorer that tells the tasks of its queries, before they are asked."""

    inner: TokenScorer
    tell: Callable[[Task], None]

    @property
    def model_id(self) -> str:
        """The wrapped model's."""
        return self.inner.model_id

    def next_tokens(self, queries: Sequence[NextTokenQuery]) -> list[NextTokenRows]:
        """One answer per query. Raises ModelError like the wrapped model."""
        self.told(queries)
        return self.inner.next_tokens(queries)

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """One matrix per query. Raises ModelError like the wrapped model."""
        self.told(queries)
        return self.inner.log_probs(queries)

    def told(self, queries: Sequence[NextTokenQuery | ContinuationQuery]) -> None:
        """Tell each task."""
        for task in {prompt.task for query in queries for prompt in query.prompts}:
            self.tell(task)


def noting_use(models: Models, tell: Callable[[Task], None]) -> Models:
    """The models, those that are given prompts telling their tasks."""
    return replace(
        models,
        generator=UsedPrompts(models.generator, tell),
        tokens=None if models.tokens is None else UsedTokenPrompts(models.tokens, tell),
    )


def package_versions() -> dict[str, str]:
    """Versions of the packages that decide a result, those that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def reworded(earlier: Mapping[str, str]) -> list[str]:
    """Which prompts have other digests now, in words."""
    wordings = prompt_digests()
    changed = sorted(task for task, digest in earlier.items() if wordings.get(task) != digest)
    return [f"the wording of the prompts {', '.join(changed)} has changed"] if changed else []
