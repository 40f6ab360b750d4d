"""The job on a cluster: reading, ordering and publishing are steps of one Beam pipeline."""
