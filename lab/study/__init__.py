"""The harness of studies: request, plan, progress, rows on disk, provenance, resuming."""
