"""One HTML file that explains a run: what was answered, what was distrusted, and why."""

from radarstream.pipelines.evaluation.report.render import render_report

__all__ = ["render_report"]
