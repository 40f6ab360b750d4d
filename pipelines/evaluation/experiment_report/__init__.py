"""What an experiment found, for people: one HTML file to explore and tables for a paper."""

from pipelines.evaluation.experiment_report.page import write_experiment_report

__all__ = ["write_experiment_report"]
