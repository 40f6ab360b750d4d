"""Apache Kafka and Flink from their jars, as processes on this machine."""
