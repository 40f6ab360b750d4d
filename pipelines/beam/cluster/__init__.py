"""The same job on a cluster: reading, ordering and publishing as steps of one Beam pipeline."""
