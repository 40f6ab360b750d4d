"""LlamaIndex: a node postprocessor that keeps what the guard keeps."""

from radarstream.library.guard import Guard

try:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import NodeWithScore, QueryBundle
except ImportError as error:
    raise ImportError(
        "llama-index-core is not installed: pip install 'radarstream[adapters]'"
    ) from error


class GuardPostprocessor(BaseNodePostprocessor):
    """Passes on the nodes that the guard keeps, in their order, for example in
    `index.as_query_engine(node_postprocessors=[GuardPostprocessor(guard=guard)])`.

    Raises as `Guard.answer`, and ValueError without a query.

    >>> from llama_index.core.schema import TextNode
    >>> says = "Lima is the capital.", "Lima is its capital.", "Cusco is its capital."
    >>> pages = [NodeWithScore(node=TextNode(text=text)) for text in says]
    >>> with Guard(profile="scripted") as guard:
    ...     processor = GuardPostprocessor(guard=guard)
    ...     kept = processor.postprocess_nodes(pages, query_str="What is the capital?")
    >>> [node.text for node in kept]
    ['Lima is the capital.', 'Lima is its capital.']
    """

    guard: Guard

    @classmethod
    def class_name(cls) -> str:
        """Name the class for LlamaIndex."""
        return "GuardPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("the guard needs the query: pass query_bundle or query_str")
        kept = self.guard.answer(query_bundle.query_str, nodes).kept
        return [judged.document for judged in kept]
