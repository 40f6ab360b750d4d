"""Settings of attribution: which texts taught a wrong answer, and what is done about them."""

from typing import Annotated, Any

from pydantic import Field

from radarstream.defenses.attribution.protection import Rules


class AttributionSettings(Rules):
    """Reports of wrong answers, their deep attribution, quarantine."""

    enabled: Annotated[
        bool,
        Field(
            description="the job keeps what the last answers were made of and leaves out texts in"
            " quarantine"
        ),
    ] = False
    self_detect: Annotated[
        bool,
        Field(
            description="the job itself complains about answers that differ from the undefended"
            " one, and memories it falsified; each complaint costs an attribution of the budget"
        ),
    ] = False
    attributor: Annotated[str, Field(description="who says which texts taught an answer")] = (
        "rag_origin"
    )
    options: Annotated[
        dict[str, Any] | None,
        Field(
            description="of the attributor, by name; none = its own, but `rag_origin` with"
            ' `check_unaided = "uncontradicted"`'
        ),
    ] = None
    corpus_texts: Annotated[
        int,
        Field(ge=0, description="with corpus.archive: archived texts looked at beside the results"),
    ] = 50
    keep_steps: Annotated[
        int, Field(ge=1, description="last answers of a query that one can complain about")
    ] = 2
    keep_days: Annotated[
        float, Field(gt=0.0, description="older ones, by event time, are not kept")
    ] = 30.0
    attributions_per_hour: Annotated[
        int, Field(ge=1, description="wrong answers attributed in an hour")
    ] = 30
    model_calls_per_day: Annotated[
        int, Field(ge=1, description="no attribution begins above so many model calls")
    ] = 50_000
    attempts: Annotated[int, Field(ge=1, description="tries of one attribution")] = 3
    open_days: Annotated[
        float,
        Field(gt=0.0, description="a complaint that has waited so long is given up, as unusable"),
    ] = 7.0
    retention_days: Annotated[
        float,
        Field(
            gt=0.0,
            description="complaints and what followed are kept so long, events of sources included",
        ),
    ] = 365.0
    poll_s: Annotated[float, Field(gt=0.0, description="pause of an idle worker")] = 2.0
    group: Annotated[
        str,
        Field(
            min_length=1,
            description="consumer group of the complaints; default: kafka.group + -complaints",
        ),
    ] = "radarstream-complaints"

    @property
    def chosen_options(self) -> dict[str, Any]:
        """The options that are set, or what was measured to suit the attributor best."""
        if self.options is not None:
            return self.options
        return {"check_unaided": "uncontradicted"} if self.attributor == "rag_origin" else {}
