"""Kafka through kafka-python: the log of snapshots, the sink of events, and the topics' set-up."""
