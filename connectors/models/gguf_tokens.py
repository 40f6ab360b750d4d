"""Token probabilities of the model that llama.cpp runs, which tells none of a prompt itself.

The same weights run a second time, with `transformers`. On the embedded model the two agree but
for the rounding of llama.cpp, which reads activations in eight bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from radarstream.connectors.models.gguf_conversion import (
    CONVERSION_VERSION,
    converted,
    is_converted,
)
from radarstream.connectors.models.gguf_weights import (
    EMBEDDED_NAME,
    embedded_gguf,
    embedded_sha256,
)
from radarstream.connectors.models.local_weights import file_sha256
from radarstream.connectors.models.rendering import rendering_name
from radarstream.connectors.models.transformers_generator import TransformersGenerator
from radarstream.connectors.models.transformers_tokens import TransformersTokens
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.tokens import ContinuationQuery, NextTokenQuery, NextTokenRows


@dataclass(frozen=True, slots=True)
class GgufTokens:
    """Tells token probabilities of a Gemma 3 GGUF file, by default the embedded weights.

    The first call of all converts the file, which takes a minute of one core; the first of a
    process loads the result. `passage_characters` as the generator's. Raises ModelError from every
    call.
    """

    model_path: Path | None = None
    batch_size: int = 8
    passage_characters: int | None = None

    @property
    def model_id(self) -> str:
        """Name and checksum of the weights, conversion, precision, and how prompts are rendered."""
        if self.model_path is None:
            checksum = embedded_sha256()
        else:
            try:
                checksum = file_sha256(self.model_path)
            except OSError as error:
                raise ModelError(
                    f"cannot read the model file {self.model_path}: {error.strerror}"
                ) from error
        how = f"{CONVERSION_VERSION}/float32/{rendering_name(self.passage_characters)}"
        return f"transformers/{self._name}@{checksum[:12]}/{how}"

    def is_converted(self) -> bool:
        """Whether the next call is spared the conversion. Raises ModelError."""
        return is_converted(self.model_path or embedded_gguf(), self._name)

    def next_tokens(self, queries: Sequence[NextTokenQuery]) -> list[NextTokenRows]:
        """One answer per query, in order."""
        return self._scorer().next_tokens(queries) if queries else []

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Per query (r, t) natural logarithms, one column per token of its continuation."""
        return self._scorer().log_probs(queries) if queries else []

    @property
    def _name(self) -> str:
        return EMBEDDED_NAME if self.model_path is None else self.model_path.stem

    def _scorer(self) -> TransformersTokens:
        directory = converted(self.model_path or embedded_gguf(), self._name)
        return TransformersTokens(
            TransformersGenerator(
                directory,
                batch_size=self.batch_size,
                device="cpu",
                passage_characters=self.passage_characters,
            )
        )
