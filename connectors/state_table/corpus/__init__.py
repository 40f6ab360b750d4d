"""Tables of the corpus: texts and their vectors."""
