"""White-box attacks on one question: words that bring a false passage next to it."""

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Final

from numpy.random import Generator
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.registry import build_reranker
from radarstream.lab.attacks.protocol import Aim
from radarstream.lab.attacks.texts import false_passage
from radarstream.lab.attacks.whitebox.crafting import Count, Steps, WhiteBox, Written
from radarstream.lab.attacks.whitebox.encoder import Tools, Vocabulary
from radarstream.lab.attacks.whitebox.flipping import (
    Climber,
    Draft,
    Objective,
    Slots,
    one_word,
    several_words,
    words_by_lot,
    written,
)
from radarstream.lab.attacks.whitebox.objectives import (
    Evading,
    Joint,
    Nearness,
    Penalty,
    Persuasion,
)
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import STRICT

FILLER: Final = "!"
OPEN: Final = 1e9  # a gate temperature at which the gate is the same for every similarity,
SHARE: Final = 0.5  # and lets through this share of the penalty


@checked_dataclass(frozen=True, config=STRICT)
class HotFlip(WhiteBox):
    """A text is the question, of which words are replaced, and a false passage behind it.

    "PoisonedRAG" (USENIX Security 2025), white box, after HotFlip (ACL 2018). Each step replaces
    one word at random so that the cosine of text and question grows. The published attack reads
    100 candidates a step; the default here is what two processor cores can do. Candidates are
    read anew as text, which the public code does not do, and hold no word of the right answer.
    `steps` replacements are tried, none with 0, and `candidates` texts are read a step.
    """

    name: ClassVar[str] = "hotflip"

    steps: Steps = 30
    candidates: Count = 8

    def objective(self, aim: Aim, tools: Tools) -> Objective:
        """What the texts climb: the similarity to the question."""
        return nearness(aim, tools)

    def write(self, aims: Sequence[Aim], count: int, tools: Tools, rng: Generator) -> Written:
        """Texts on one question, as `WhiteBox.write`."""
        (aim,) = aims
        encoder = tools.encoder
        objective = self.objective(aim, tools)
        (start,) = encoder.tokens([aim.question])
        drafts = [Draft(start, (("", passage),)) for passage in payloads(aim, count)]
        climber = Climber(encoder, Vocabulary.of(encoder, aim.answers), self.candidates, rng)
        flips = one_word(2 * self.candidates)
        climbs = climber.climb(drafts, [objective] * count, flips, self.steps)
        return written(climbs, encoder)


@checked_dataclass(frozen=True, config=STRICT)
class Evasive(HotFlip):
    """A text as HotFlip's that also keeps its gradient steady, so that ProGRank trusts it.

    The paper asks for such an attack and gives none; this one is ours. The objective is the
    similarity less `weight` times P_dr + P_rep, estimated from `runs` disturbed passes (the defence
    makes more) with a `seed` of the attacker's own. Replacements are proposed by the gradient of
    the similarity; the penalty is asked for of the `probed` most similar ones.
    """

    name: ClassVar[str] = "evasive"
    uses: ClassVar[tuple[str, ...]] = ("encoder", "gradients")

    steps: Steps = 15
    weight: Annotated[float, Field(ge=0.0)] = 0.5
    runs: Annotated[int, Field(ge=2)] = 4
    probed: Count = 4
    seed: Annotated[int, Field(ge=0)] = 1_000_003

    def objective(self, aim: Aim, tools: Tools) -> Objective:
        """Similarity less the penalty. Raises ConfigurationError where nothing tells gradients."""
        if tools.gradients is None:
            raise ConfigurationError(
                f"{self.name} needs gradients, which no configured model tells"
            )
        options = {"runs": self.runs, "seed": self.seed, "gate_temperature": OPEN}
        penalty = Penalty(build_reranker("prog_rank", options), tools.gradients, aim.question)
        return Evading(nearness(aim, tools), penalty, self.weight / SHARE, self.probed)


@checked_dataclass(frozen=True, config=STRICT)
class Liar(WhiteBox):
    """A text is a tag for the generator, a tag for the retriever, the question, a false passage.

    LIAR-RAG as the ProGRank paper sets it up: tags of `tag` words each, improved in `cycles` turns.
    The steps for the retriever are HotFlip on the similarity, with `candidates` texts a step. Those
    for the generator replace words by lot, `samples` a step, and keep what makes the target more
    probable, where the published attack follows gradients of the language model; 128 epochs of 128
    candidates there. Without a model that tells token probabilities, or with `generator_steps` 0,
    only the retriever is attacked.
    """

    name: ClassVar[str] = "liar"
    uses: ClassVar[tuple[str, ...]] = ("encoder", "tokens")

    cycles: Steps = 4
    retriever_steps: Steps = 8
    generator_steps: Steps = 1
    candidates: Count = 8
    samples: Count = 4
    tag: Count = 16

    def write(self, aims: Sequence[Aim], count: int, tools: Tools, rng: Generator) -> Written:
        """Texts on one question, as `WhiteBox.write`."""
        (aim,) = aims
        encoder = tools.encoder
        vocabulary = Vocabulary.of(encoder, aim.answers)
        near = nearness(aim, tools)
        start = drafts = tagged(aim, count, lambda: vocabulary.drawn(2 * self.tag, rng))
        climber = Climber(encoder, vocabulary, self.candidates, rng)
        speaker = Climber(encoder, vocabulary, self.samples, rng)
        flips = one_word(2 * self.candidates, range(self.tag, 2 * self.tag))
        lots = words_by_lot(self.samples, range(self.tag))
        for _ in range(self.cycles):
            climbs = climber.climb(drafts, [near] * count, flips, self.retriever_steps)
            drafts = [climb.draft for climb in climbs]
            if tools.tokens is not None and self.generator_steps:
                persuasions = [Persuasion(tools.tokens, aim.question, aim.target) for _ in drafts]
                climbs = speaker.climb(drafts, persuasions, lots, self.generator_steps)
                drafts = [climb.draft for climb in climbs]
        return brought_near(start, drafts, near, tools)


@checked_dataclass(frozen=True, config=STRICT)
class JointGcg(WhiteBox):
    """A text is a tag of exclamation marks that change into words, the question, a false passage.

    "Joint-GCG" without its joint gradient, which needs one vocabulary for both models: words are
    proposed by the retriever's gradient alone, and both models judge the proposals. The weight of
    the retriever adapts to its scores. Published: 64 epochs of 128 proposals; here `steps` of
    `candidates`. Epoch i, from 0, changes max(`tag` / 2^(i + 1), 2) words at once, each to one of
    `top`. A text that is not among `keep` nearest benign passages is not retrieved. Without a model
    that tells token probabilities only the retriever is attacked.
    """

    name: ClassVar[str] = "joint-gcg"
    uses: ClassVar[tuple[str, ...]] = ("encoder", "tokens")

    steps: Steps = 32
    candidates: Count = 8
    top: Count = 16
    tag: Count = 32
    keep: Count = 5

    def write(self, aims: Sequence[Aim], count: int, tools: Tools, rng: Generator) -> Written:
        """Texts on one question, as `WhiteBox.write`."""
        (aim,) = aims
        encoder = tools.encoder
        question, *benign = encoder.embed([aim.question, *aim.relevant])
        others = sorted((float(row @ question) for row in benign), reverse=True)[: self.keep]
        (filler,) = encoder.tokens([FILLER])
        start = drafts = tagged(aim, count, lambda: filler * self.tag)
        near = Nearness(question)
        objectives = [
            near
            if tools.tokens is None
            else Joint(near, Persuasion(tools.tokens, aim.question, aim.target), tuple(others))
            for _ in drafts
        ]
        climber = Climber(encoder, Vocabulary.of(encoder, aim.answers), self.candidates, rng)
        for epoch in range(self.steps):
            changed = max(self.tag // 2 ** (epoch + 1), 2)
            proposals = several_words(self.candidates, changed, self.top)
            climbs = climber.climb(drafts, objectives, proposals, 1)
            drafts = [climb.draft for climb in climbs]
        return brought_near(start, drafts, near, tools)


def payloads(aim: Aim, count: int) -> tuple[str, ...]:
    """The part of a text that misleads: the false passages of the data, in turn. Raises
    UnattackableError where there is none.
    """
    return tuple(false_passage(aim, number) for number in range(count))


def tagged(aim: Aim, count: int, tag: Callable[[], Slots]) -> list[Draft]:
    """Drafts of a tag that may change, the question and a false passage."""
    return [Draft(tag(), (("", f"{aim.question} {passage}"),)) for passage in payloads(aim, count)]


def nearness(aim: Aim, tools: Tools) -> Nearness:
    """The similarity to a question."""
    return Nearness(tools.encoder.embed([aim.question])[0])


def brought_near(
    start: Sequence[Draft], drafts: Sequence[Draft], near: Nearness, tools: Tools
) -> Written:
    """What was written, and the similarity of each text at the start and at the end."""
    texts = [draft.texts(tools.encoder)[0] for draft in (*start, *drafts)]
    values = (tools.encoder.embed(texts) @ near.questions).tolist()
    count = len(start)
    return Written(tuple(texts[count:]), tuple(values[:count]), tuple(values[count:]))
