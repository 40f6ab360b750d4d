"""The guard behind the real retriever interfaces of other libraries."""

import asyncio
import sys
from importlib import import_module

import pytest

from radarstream import Guard

QUERY = "What is the capital of Peru?"
TEXTS = ["Lima is the capital of Peru.", "Cusco is the capital of Peru.", "Lima is its capital."]
SITES = ["https://one.example", "https://liar.example", "https://two.example"]
PAGES = list(zip(TEXTS, SITES, strict=True))


@pytest.fixture(scope="module")
def guard():
    with Guard(profile="scripted") as made:
        yield made


@pytest.mark.parametrize("name", ["haystack", "langchain", "llama_index"])
def test_without_the_library_the_remedy_is_told(name: str, monkeypatch) -> None:
    for away in ("haystack", "langchain_core.documents", "llama_index.core.postprocessor.types"):
        monkeypatch.setitem(sys.modules, away, None)
    monkeypatch.delitem(sys.modules, f"radarstream.adapters.{name}", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'radarstream\[adapters\]'"):
        import_module(f"radarstream.adapters.{name}")


def test_langchain(guard) -> None:
    documents = pytest.importorskip("langchain_core.documents")
    from radarstream.adapters.langchain import GuardCompressor

    given = [documents.Document(t, metadata={"source": s}) for t, s in PAGES]
    compressor = GuardCompressor(guard=guard)
    assert compressor.compress_documents(given, QUERY) == [given[0], given[2]]
    assert asyncio.run(compressor.acompress_documents(given, QUERY)) == [given[0], given[2]]
    assert guard.answer(QUERY, given).event.sources[0].url == SITES[0]


def test_llama_index(guard) -> None:
    schema = pytest.importorskip("llama_index.core.schema")
    from radarstream.adapters.llama_index import GuardPostprocessor

    nodes = [schema.NodeWithScore(node=schema.TextNode(text=t), score=0.5) for t in TEXTS]
    postprocessor = GuardPostprocessor(guard=guard)
    assert postprocessor.postprocess_nodes(nodes, query_str=QUERY) == [nodes[0], nodes[2]]
    with pytest.raises(ValueError, match="query"):
        postprocessor.postprocess_nodes(nodes)


def test_haystack(guard, monkeypatch) -> None:
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    haystack = pytest.importorskip("haystack")
    from radarstream.adapters.haystack import GuardDocuments

    given = [haystack.Document(content=t, meta={"url": s}) for t, s in PAGES]
    pipeline = haystack.Pipeline()
    pipeline.add_component("guard", GuardDocuments(guard))
    found = pipeline.run({"guard": {"query": QUERY, "documents": given}})["guard"]
    assert found == {"documents": [given[0], given[2]], "rejected": [given[1]], "answer": "Lima"}
