"""Objectives that are functions of the embedding of one passage."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from radarstream.pipelines.evaluation.attacks.whitebox.flipping import Texts
from radarstream.schemas.evidence import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Nearness:
    """The similarity of a passage to a question, or its mean over several.

    `questions` is the unit row of one question or the mean of those of several, (d,).
    """

    questions: FloatArray

    def directions(self, rows: FloatArray) -> FloatArray:
        """The question itself."""
        return np.broadcast_to(self.questions, rows.shape)

    def values(self, _: Sequence[Texts], rows: FloatArray) -> FloatArray:
        """Cosines, each the same in any company."""
        return np.asarray((rows[:, 0] * self.questions).sum(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """Near to the questions with a trigger, far from those without.

    `triggered` and `clean` are unit rows, (t, d) and (c, d). The value is the mean similarity to
    the first less `avoided` times that to the second. With `contrastive` a step follows the
    gradient of log(e^s / (e^s + sum of e^s')), the mean over the triggered similarities s, where
    s' are the clean ones; without, that of the value.
    """

    triggered: FloatArray
    clean: FloatArray
    avoided: float
    contrastive: bool

    def directions(self, rows: FloatArray) -> FloatArray:
        """(1, d)"""
        if not self.contrastive:
            return self._wanted()[None]
        near, far = np.exp(self.triggered @ rows[0]), np.exp(self.clean @ rows[0])
        missed = far.sum() / (near + far.sum())  # of each triggered question
        away = (1.0 / (near + far.sum())).mean() * far
        return np.asarray((missed @ self.triggered / len(near) - away @ self.clean)[None])

    def values(self, _: Sequence[Texts], rows: FloatArray) -> FloatArray:
        """(n,)"""
        return np.asarray((rows[:, 0] * self._wanted()).sum(axis=1))

    def _wanted(self) -> FloatArray:
        """(d,)"""
        near, far = self.triggered.mean(axis=0), self.clean.mean(axis=0)
        return np.asarray(near - self.avoided * far)
