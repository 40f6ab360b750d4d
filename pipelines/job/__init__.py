"""The continuous job around the graph: it collects, answers, monitors itself and sends alerts."""
