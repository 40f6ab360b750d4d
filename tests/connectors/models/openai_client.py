"""A process that asks many prompts through the cache, to be killed: URL, database, how many."""

import sys

from radarstream.connectors.models.openai_http.generator import OpenAiGenerator
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.prompt import Task

url, database, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = OpenAiOptions(base_url=url, model="small", api_key_variable="", concurrency=4)
generator = Cached(OpenAiGenerator(options), ResponseCache(open_engine(database)))
prompts = [
    build_prompt(Task.ATOMIC_ANSWER, "Where is the zoo?", [f"Zoo {i} is in Bern."])
    for i in range(count)
]
assert len(generator.complete(prompts)) == count
