"""What names a log itself, so that offsets of another log with its name are not taken for its."""

from uuid import UUID

from kafka import KafkaConsumer


def log_epoch(consumer: KafkaConsumer, topic: str) -> str:
    """Return the topic's id, or the cluster's id on brokers before 2.8, which have no topic ids.

    A topic that is deleted and created again gets another id. A cluster id changes only with the
    cluster: on such brokers, create a topic anew under another name or prefix. As the client last
    heard it; no request is made. Free of "/".
    """
    cluster = consumer._cluster  # the client has no public way to either id
    identity = cluster.topic_id(topic)
    if identity is not None and UUID(str(identity)).int:
        return str(identity)
    return str(cluster.cluster_id or "unknown").replace("/", "_")
