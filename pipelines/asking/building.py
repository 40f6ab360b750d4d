"""From settings to what answers questions."""

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Engine

from radarstream.pipelines.asking.asker import Asker
from radarstream.pipelines.asking.guards import Guards
from radarstream.pipelines.asking.memory import MemoryAccounts
from radarstream.pipelines.asking.ports import Accounts, Retriever
from radarstream.pipelines.asking.retrievers import CorpusRetriever, GivenDocuments
from radarstream.pipelines.asking.seeds import drawn, from_question
from radarstream.pipelines.asking.values import Origin
from radarstream.pipelines.build import build_guard, shared_corpus, shared_engine
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Models


def build_asker(
    settings: Settings,
    accounts: Accounts | None = None,
    *,
    engine: Engine | None = None,
    repeatable: bool = False,
    models: Models | None = None,
    retrievers: Mapping[Origin, Retriever] | None = None,
) -> Asker:
    """Create what answers questions: the guard of the settings, its defences, where documents are.

    Without `accounts` they are kept in memory. `engine` is the state database, by default that of
    the settings. `repeatable` draws the noise of private retrieval from the question, as studies
    need it; it is of no use against an attacker. `models` stand in the place of those of the
    settings, `retrievers` in that of the user's own documents and the corpus. Raises
    ConfigurationError.
    """
    engine = engine or shared_engine(settings)
    # Nobody is told an undefended answer, and it would cost a long prompt.
    defense = settings.defense.model_copy(update={"compare_with": ""})
    settings = settings.model_copy(update={"defense": defense})
    guard = build_guard(settings, engine)
    if accounts is None:
        accounts = MemoryAccounts(settings.orchestration.trust_gain_per_hour)
    if models is not None:
        guard = replace(guard, models=models)
    if retrievers is None:
        retrievers = {
            Origin.DOCUMENTS: GivenDocuments(),
            Origin.CORPUS: CorpusRetriever(shared_corpus(settings), guard.models.embedder),
        }
    seed = from_question if repeatable else drawn
    return Asker(Guards(settings, guard), engine, accounts, retrievers, seed)
