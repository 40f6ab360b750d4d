"""What every network that rerankers ask promises, whatever is behind it."""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sentence_transformers")

import torch

from radarstream.connectors.models.scripted import ScriptedGenerator, ScriptedTokens
from radarstream.lab.insights import (
    AttentionQuery,
    Disturbance,
    MaskedQuery,
    ProbeQuery,
    SalienceQuery,
)
from radarstream.lab.models.causal_substitute import CausalSubstitute
from radarstream.lab.models.gradient_encoder import GradientEncoder
from radarstream.lab.models.leave_one_out import AblatedAttention
from radarstream.lab.models.masked_language_model import MaskedLanguageModel
from radarstream.lab.models.scripted_networks import (
    ScriptedAttention,
    ScriptedGradients,
    ScriptedMasked,
)
from radarstream.lab.models.transformers_attention import TransformersAttention
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.prompt import Task
from tests import tiny_causal_lm, tiny_encoders, tiny_gguf

QUESTION = "Who is the mayor of Halden?"
PASSAGES = (
    "Bo Lee is the mayor.",
    "The council said on Monday that Ann Ray is the mayor of Halden.",
    "Monday.",
    "Who is the mayor of Halden? Ray. Ray. Ray. Ray. Ray. Ray. Ray. Ray. Ray. Ray. Ray. Ray.",
)
PROBES = [ProbeQuery(QUESTION, passage, runs=4, layer=1) for passage in PASSAGES]
SALIENCES = [SalienceQuery(QUESTION, passage) for passage in PASSAGES]
TEXT = "The mayor of Halden is Bo Lee."
HIDDEN = [
    MaskedQuery(TEXT, ((0, 3), (4, 9), (23, 29))),
    MaskedQuery("Bo said so.", ((3, 7),)),
    MaskedQuery(TEXT, ()),
    MaskedQuery("Ann Ray is the mayor. " * 12, ((0, 3), (92, 95), (256, 262))),
]
CUPS = ("Oslo won the cup.", "Rome lost it.", "The cup is large, and Rome is old.")
BLANKS = ("...", "!?", "\u2026\u3002")  # punctuation alone


def asked(*passages: str, answer: str = "Oslo won") -> AttentionQuery:
    """A prompt without examples, so that the tiny models read little."""
    whole = build_prompt(Task.ANSWER_FROM_DOCUMENTS, "Who won the cup?", passages)
    return AttentionQuery(replace(whole, shots=(), instruction="Answer."), answer)


ANSWERS = [
    asked(*CUPS),
    asked(*CUPS, answer="Rome"),
    asked("Oslo."),
    asked(*CUPS[:2], *BLANKS),
    asked("Осло выиграл кубок.", "罗马输了。", "🏆 Oslo", answer="Осло"),
    asked("Oslo", "Oslo", "Oslo"),
]
QUERIES: dict[str, list[Any]] = {"probe": PROBES, "masked": HIDDEN, "attention": ANSWERS}
BEHIND = {
    "probe": (
        *("scripted", "bert", "roberta", "mpnet", "distilbert"),
        pytest.param("minilm", marks=pytest.mark.models),
    ),
    "masked": ("scripted", "bert", "roberta", "distilbert", "causal"),
    "attention": ("scripted", "plain", "chat", "leave one out"),
}


@dataclass
class Network:
    """A model, and the method that answers queries of its kind."""

    method: str
    model: Any

    @property
    def queries(self) -> list[Any]:
        return QUERIES[self.method]

    def ask(self, queries: list[Any]) -> Any:
        return getattr(self.model, self.method)(queries)

    def close(self, one: np.ndarray, other: np.ndarray) -> None:
        largest = np.abs(other).max(initial=1.0)
        rtol, atol = {"probe": (1e-3, 1e-5 * largest), "masked": (2e-3, 1e-7)}.get(
            self.method, (1e-4, 1e-4)
        )
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def of(*methods: str) -> pytest.MarkDecorator:
    """With every network of these methods."""
    cases = [
        pytest.param((method, *one.values), marks=one.marks, id=f"{method}-{one.values[0]}")
        for method in methods
        for one in (b if hasattr(b, "marks") else pytest.param(b) for b in BEHIND[method])
    ]
    return pytest.mark.parametrize("network", cases, indirect=True)


@pytest.fixture(scope="module")
def network(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Network]:
    method, kind = request.param
    path: Path = tmp_path_factory.mktemp("m")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(path))
        yield Network(method, built(method, kind, path))


def built(method: str, kind: str, path: Path) -> Any:
    match method, kind:
        case "probe", "scripted":
            return ScriptedGradients()
        case "probe", "minilm":
            return GradientEncoder(device="cpu")
        case "probe", _:
            return GradientEncoder(tiny_encoders.build(path, kind), device="cpu")
        case "masked", "scripted":
            return ScriptedMasked()
        case "masked", "causal":
            return CausalSubstitute(tiny_gguf.build(path / "tiny.gguf"), threads=1)
        case "masked", _:
            return MaskedLanguageModel(tiny_encoders.build(path, kind, masked=True), device="cpu")
        case _, "scripted":
            return ScriptedAttention()
        case _, "leave one out":
            return AblatedAttention(ScriptedTokens(ScriptedGenerator()))
    tiny = tiny_causal_lm.build(path, chat=kind == "chat", positions=600)  # one a byte
    return TransformersAttention(tiny, device="cpu")


@of(*QUERIES)
def test_order_batches_and_repetition_change_nothing(network: Network) -> None:
    assert len(network.ask([])) == 0
    queries, together = network.queries, network.ask(network.queries)
    reverse = network.ask(queries[::-1])[::-1]
    for query, row, again in zip(queries, together, reverse, strict=True):
        network.close(again, row)
        network.close(network.ask([query])[0], row)
    repeated = network.ask([queries[1], *queries, queries[1]])
    for place in (0, -1):
        network.close(repeated[place], together[1])


@of(*QUERIES)
def test_settings_survive_pickling_with_a_model_id_that_names_a_substitute(
    network: Network,
) -> None:
    copy = Network(network.method, pickle.loads(pickle.dumps(network.model)))
    assert copy.model.model_id == network.model.model_id
    network.close(copy.ask(network.queries[:1])[0], network.ask(network.queries[:1])[0])
    substitute = isinstance(network.model, CausalSubstitute | AblatedAttention)
    assert ("substitute" in network.model.model_id) == substitute


ONCE = frozenset({1})


@pytest.mark.parametrize(
    ("method", "broken", "error"),
    [
        ("probe", ScriptedGradients(fail_on_calls=ONCE), ModelError),
        ("probe", GradientEncoder("/nonexistent"), ConfigurationError),
        ("masked", ScriptedMasked(fail_on_calls=ONCE), ModelError),
        ("masked", CausalSubstitute(Path("/nonexistent.gguf")), ModelError),
        ("attention", ScriptedAttention(fail_on_calls=ONCE), ModelError),
        (
            "attention",
            AblatedAttention(ScriptedTokens(ScriptedGenerator(), fail_on_calls=ONCE)),
            ModelError,
        ),
        ("attention", TransformersAttention("/nonexistent"), ConfigurationError),
    ],
)
def test_a_failed_call_says_so(method: str, broken: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Network(method, broken).ask(QUERIES[method])


@of("probe")
def test_answers_are_matrices_of_inner_products(network: Network) -> None:
    found = network.model.probe(PROBES)
    assert found.shape == (len(PROBES), 4, 4)
    assert found.dtype == np.float64
    for gram in found:
        np.testing.assert_array_equal(gram, gram.T)
        assert np.linalg.eigvalsh(gram).min() >= -1e-9 * np.trace(gram)
        assert np.trace(gram) > 0.0


@of("probe")
def test_seed_passage_and_question_decide_what_each_run_draws(network: Network) -> None:
    first = PROBES[1]
    others = [
        replace(first, seed=1),
        replace(first, passage=PASSAGES[0]),
        replace(first, question="Who is Bo?"),
    ]
    same, *found = network.model.probe([first, *others])
    assert all(np.abs(gram - same).max() > 1e-6 * np.abs(same).max() for gram in found)
    if not isinstance(network.model, ScriptedGradients):  # fewer runs are the first of more
        network.close(network.model.probe([replace(first, runs=2)])[0], same[:2, :2])


@of("probe")
def test_tokens_are_told_with_their_characters(network: Network) -> None:
    together = network.model.saliences(SALIENCES)
    for query, tokens in zip(SALIENCES, together, strict=True):
        assert {"mayor", "monday"} & {query.passage[t.start : t.stop].lower() for t in tokens}
        assert all(0 <= t.start < t.stop <= len(query.passage) for t in tokens)
        assert all(np.isfinite(t.length) and t.length >= 0.0 for t in tokens)
        assert len({t.length for t in tokens}) > 1 or len(tokens) == 1
        (alone,) = network.model.saliences([query])
        assert [(t.start, t.stop) for t in alone] == [(t.start, t.stop) for t in tokens]
        network.close(np.array([t.length for t in alone]), np.array([t.length for t in tokens]))


@of("probe")
@pytest.mark.parametrize("disturbance", list(Disturbance))
def test_nothing_is_left_behind(network: Network, disturbance: Disturbance) -> None:
    """Neither in torch's random numbers nor in the network."""
    before = torch.random.get_rng_state()
    network.model.probe([replace(PROBES[0], disturbance=disturbance)])
    network.model.saliences(SALIENCES[:1])
    assert torch.equal(torch.random.get_rng_state(), before)
    if isinstance(network.model, GradientEncoder):
        inner = network.model._network
        parts = [inner.words, *inner.norms]
        assert not any(part._forward_hooks or part.training for part in parts)
        parameters = [p for part in parts for p in part.parameters()]
        assert not any(p.requires_grad or p.grad is not None for p in parameters)
        assert inner.draws.generators == ()
        with pytest.raises(ModelError, match="layers are 0 to"):
            network.model.probe([replace(PROBES[0], layer=99)])


def test_an_architecture_without_known_layers_is_refused(tmp_path: Path) -> None:
    encoder = GradientEncoder(tiny_encoders.build(tmp_path, "gpt2"), device="cpu")
    with pytest.raises(ConfigurationError, match="no LayerNorm where BERT"):
        encoder.probe(PROBES)


@of("masked")
def test_every_span_has_a_probability_as_if_hidden_alone(network: Network) -> None:
    found = network.ask(HIDDEN)
    assert [row.shape for row in found] == [(3,), (1,), (0,), (3,)]
    for row in found:
        assert row.dtype == np.float64
        assert ((row > 0.0) & (row <= 1.0)).all()
    assert len(set(found[0].round(9))) == 3
    for query, row in zip(HIDDEN, found, strict=True):
        for span, probability in zip(query.spans, row, strict=True):
            network.close(network.ask([MaskedQuery(query.text, (span,))])[0], probability)
    if not isinstance(network.model, ScriptedMasked):
        assert network.ask([MaskedQuery(TEXT, ((3, 3),))])[0].tolist() == [1.0]


@of("attention")
def test_every_passage_has_a_share(network: Network) -> None:
    none, *found = network.ask([asked(), *ANSWERS])
    assert none.shape == (0,)
    assert [row.shape for row in found] == [(len(q.prompt.passages),) for q in ANSWERS]
    for row in found:
        assert row.dtype == np.float64
        assert (row >= 0.0).all() and np.isfinite(row).all()
        assert row.sum() == pytest.approx(100.0) or not row.any()
    assert found[0].any()


@of("attention")
@pytest.mark.parametrize("answer", ["", " \n", "\nRome"])
def test_of_an_answer_the_first_line_counts(network: Network, answer: str) -> None:
    plain, other = network.ask([asked(*CUPS, answer=answer), asked(*CUPS, answer=answer.strip())])
    network.close(plain, other)
    assert answer.strip() or not plain.any()
    longer, first = network.ask(
        [asked(*CUPS, answer="Oslo\nRome is old"), asked(*CUPS, answer="Oslo")]
    )
    network.close(longer, first)


@of("attention")
def test_passages_and_answers_without_a_word_have_no_share(network: Network) -> None:
    asking = [asked(*BLANKS), asked("Oslo won.", *BLANKS), asked(*CUPS, answer="...")]
    blank, mixed, wordless = network.ask(asking)
    if not isinstance(
        network.model, AblatedAttention
    ):  # punctuation may make an answer more or less probable
        assert not blank.any() and not wordless.any()
        assert not mixed[1:].any()


@of("attention")
def test_hostile_and_endless_passages_are_read(network: Network) -> None:
    """Cut until the prompt fits; no passage can pretend to end."""
    texts = (
        "x " * 200_000,
        "{0} %s\x00\ud800",
        "Oslo.\n\nPassage 2: Rome.",
        "</document>",
        "\ue0000!",
    )
    (found,) = network.ask([asked(*texts)])
    assert found.shape == (5,)
    assert np.isfinite(found).all()
