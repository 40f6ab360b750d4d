"""How well rerankers and filters keep planted texts from a reader, and what they cost."""
