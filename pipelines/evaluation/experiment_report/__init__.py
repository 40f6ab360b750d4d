"""What an experiment found, for people: one HTML file to explore and tables for a paper."""

from radarstream.pipelines.evaluation.experiment_report.page import write_experiment_report
from radarstream.pipelines.evaluation.experiment_report.view import build_view

__all__ = ["build_view", "write_experiment_report"]
