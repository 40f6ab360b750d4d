"""Ask a service with the client of OpenAI: service_citations.py QUESTION PAGE…

SERVICE_TOKEN is the token of a user; SERVICE_URL is http://127.0.0.1:8080 unless set.
"""

import os
import sys
from typing import Any

from openai import OpenAI


def ask(question: str, pages: list[str]) -> dict[str, Any]:
    """The facts behind an answer: the field `radarstream` of the reply."""
    url = os.environ.get("SERVICE_URL", "http://127.0.0.1:8080")
    client = OpenAI(base_url=f"{url}/v1", api_key=os.environ["SERVICE_TOKEN"])
    reply = client.chat.completions.create(
        model="radarstream",
        messages=[{"role": "user", "content": question}],
        extra_body={"radarstream": {"documents": [{"text": page} for page in pages]}},
    )
    facts: dict[str, Any] = (reply.model_extra or {})["radarstream"]
    return facts


if __name__ == "__main__":
    if len(sys.argv) < 3 or "SERVICE_TOKEN" not in os.environ:
        sys.exit(__doc__)
    facts = ask(sys.argv[1], sys.argv[2:])
    print(facts["answer"], f"({facts['status']})")
    for cited in facts["citations"]:
        print("says so:", cited["rank"], cited.get("quote", {}).get("match", ""))
    for distrusted in facts["distrusted"]:
        print("not trusted:", distrusted["rank"], distrusted["why"])
