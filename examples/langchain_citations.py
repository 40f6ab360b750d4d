"""A runnable of LangChain that keeps the citations: langchain_citations.py QUESTION PAGE…

The chat model of `langchain-openai` drops the field `radarstream` of a reply. A runnable around the
client keeps it, in `response_metadata` of the message. SERVICE_TOKEN is the token of a user.
"""

import os
import sys

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from service_citations import ask


def guarded(inputs: dict[str, object]) -> AIMessage:
    """An answer as a message, with the facts behind it."""
    facts = ask(str(inputs["question"]), [str(page) for page in inputs["pages"]])  # type: ignore[attr-defined]
    return AIMessage(content=facts["answer"] or "", response_metadata={"radarstream": facts})


radarstream = RunnableLambda(guarded)

if __name__ == "__main__":
    if len(sys.argv) < 3 or "SERVICE_TOKEN" not in os.environ:
        sys.exit(__doc__)
    message = radarstream.invoke({"question": sys.argv[1], "pages": sys.argv[2:]})
    print(message.content)
    print([cited["rank"] for cited in message.response_metadata["radarstream"]["citations"]])
