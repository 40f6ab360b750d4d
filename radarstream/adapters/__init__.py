"""A guard behind the retrievers of other libraries: only documents that it keeps go on."""
