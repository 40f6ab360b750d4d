"""Servers of language models on this machine, as `radarstream doctor` finds them.

Only loopback is asked, for its list of models, at the usual ports.
"""

import shlex
from collections.abc import Iterator
from typing import Final

from radarstream.connectors.models.openai_http.listing import models_at, named, writers
from radarstream.pipelines.cli.doctor_checks import Check
from radarstream.pipelines.settings import LlamaCpp, OpenAiGenerator, Settings
from radarstream.schemas.errors import ModelError

PORTS: Final = {"Ollama": 11434, "vLLM": 8000, "llama.cpp server": 8080}
PATIENCE_S: Final = 0.5
LIMITED: Final = "the embedded model has 270 million parameters, which limits the answers"


def local_servers(settings: Settings) -> Iterator[Check]:
    """Say which servers are there and what to type to use one; none is a failure."""
    found = False
    for name, port in PORTS.items():
        address = f"http://127.0.0.1:{port}/v1"
        try:
            models = models_at(address, PATIENCE_S)
        except ModelError:
            continue
        found = True
        yield Check(name, True, _offer(settings, address, models))
    if not found:
        places = ", ".join(f"{name} ({port})" for name, port in PORTS.items())
        said = f"none on this machine: {places}"
        if isinstance(settings.generator, LlamaCpp) and settings.generator.model_path is None:
            said += f'; {LIMITED}: see "Use a better model" in the README'
        yield Check("local servers", True, said)


def _offer(settings: Settings, address: str, models: tuple[str, ...]) -> str:
    """What a server has, and what to type unless these settings ask it already."""
    writing = writers(models)
    if not writing:
        return f"{address} answers and has no model that writes text"
    listed = named(writing)
    generator = settings.generator
    if isinstance(generator, OpenAiGenerator) and generator.model in writing:
        return f"{address} has {listed}"
    typed = f"--model {shlex.quote(writing[0])} --base-url {address}"
    return f"{address} has {listed}. To use it, add to a command: {typed}"
