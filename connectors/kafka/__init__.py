"""Kafka by kafka-python: the log of snapshots, the sink of events, and the set-up of topics."""
