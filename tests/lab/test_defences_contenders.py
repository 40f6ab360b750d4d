"""Contenders from text: specs, options, adaptations."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from radarstream.defenses.registry import DEFENSES
from radarstream.lab.defences.contenders import (
    adapted,
    built,
    notes_on_production,
    parse_contenders,
    remembers,
    spread_over_time,
)
from radarstream.lab.study.specs import Spec, heading, split_specs
from radarstream.pipelines.build import build_methods
from radarstream.pipelines.settings import Profile, load_settings
from radarstream.pipelines.settings.loading import scalar
from radarstream.schemas.errors import ConfigurationError
from tests.lab.defence_studies import Bench, static_dataset


def names(text: str) -> list[str]:
    return [contender.name for contender in parse_contenders(text)]


def test_all_is_every_defence() -> None:
    assert names("all") == list(DEFENSES)
    assert names("vanilla,all")[0] == "vanilla"
    assert sorted(names("vanilla,all,radar")) == sorted(DEFENSES)  # each once


def test_options_may_hold_commas_are_typed_and_reach_the_defence() -> None:
    specs = ["radar", "radar:a=1,b=x", "vanilla", "radar+none"]
    assert split_specs("radar,radar:a=1,b=x,vanilla, radar+none ") == specs
    (contender,) = parse_contenders("radar:pair_scale=0.3,on_empty=abstain,iterations=7")
    assert contender.options == (("pair_scale", 0.3), ("on_empty", "abstain"), ("iterations", 7))
    defense = adapted(contender)
    assert (defense.pair_scale, defense.on_empty) == (0.3, "abstain")  # type: ignore[attr-defined]
    assert names("instruct_rag:extract=false") == ["instruct_rag:extract=false"]


def test_what_cannot_be_read_is_refused() -> None:
    for text, message in {
        "radr": "no defence named 'radr'",
        "radar:pair_scal=1": "pair_scal",
        "radar:pair_scale=-1": "greater than or equal to 0",
        "radar:pair_scale=": "cannot read option",
        "radar:pair_scale": "cannot read option",
        "radar+sometimes": r"no defence named 'radar\+sometimes'",
        "radar:pair_scale=[1]": "pair_scale",
        "radar,production": "'production' needs settings",
    }.items():
        with pytest.raises(ConfigurationError, match=message):
            parse_contenders(text)
    with pytest.raises(ConfigurationError, match="pair_size"):
        parse_contenders("production:pair_size=1", load_settings().defense)
    for text in ("9" * 5_000, "[" * 5_000):  # what TOML cannot hold is text
        assert scalar(text) == text


def test_adaptations_are_written_with_a_plus() -> None:
    contenders = parse_contenders(
        "radar+none,vanilla+cumulative,vanilla+cumulative-20,vanilla+none"
    )
    assert [(c.name, c.how) for c in contenders] == [
        ("radar+none", "none"),
        ("vanilla+cumulative", "cumulative"),
        ("vanilla+cumulative-20", "cumulative-20"),
        ("vanilla", "none"),  # a static defence has nothing to forget
    ]


def test_only_defences_without_memory_are_spread_over_time() -> None:
    assert remembers(Spec("radar", "radar"))
    assert not remembers(Spec("vanilla", "vanilla"))
    spread = spread_over_time(
        parse_contenders("radar,vanilla,radar+none"), ["none", "cumulative-30", "lightweight"]
    )
    added = ["vanilla+cumulative-30", "vanilla+lightweight"]
    assert [c.name for c in spread] == ["radar", "vanilla", *added, "radar+none"]
    with pytest.raises(ConfigurationError, match="no adaptation 'weekly'"):
        spread_over_time(parse_contenders("vanilla"), ["weekly"])


@pytest.mark.parametrize("profile", get_args(Profile))
@pytest.mark.parametrize("name", DEFENSES)
def test_production_is_what_the_job_does(profile: Profile, name: str) -> None:
    settings = load_settings(profile=profile, defense={"name": name})
    (contender,) = parse_contenders("production", settings.defense)
    assert contender.name == "production"
    assert built(contender) == build_methods(settings)[0]
    spelled = heading(name, contender.options)
    (same,) = parse_contenders(spelled)
    assert replace(same, name="") == replace(contender, name="")
    assert notes_on_production([contender, same]) == (
        f"production is {spelled}: what `run` and `replay` do with these settings",
    )


def test_production_keeps_its_short_name_with_options_and_adaptations() -> None:
    settings = load_settings(defense={"options": {"memory_days": 30.0}}).defense
    plainly, stricter, alone = parse_contenders(
        "production,production:withstand=2,memory_days=9.0,production+none", settings
    )
    assert [c.name for c in (plainly, stricter, alone)] == [
        "production",
        "production:withstand=2,memory_days=9.0",
        "production+none",
    ]
    assert dict(plainly.options) == {"memory_days": 30.0, "withstand": 1}
    assert dict(stricter.options) == {"memory_days": 9.0, "withstand": 2}
    assert alone.options == plainly.options
    first, second = notes_on_production([plainly, stricter, alone])
    assert second.endswith("but for the options that it names")
    assert "memory_days=30.0" in first and "memory_days=9.0" in second


def test_production_with_other_settings_is_another_study(tmp_path: Path) -> None:
    """Otherwise answers under one rule would be shown as those under another."""
    bench = Bench(tmp_path)
    data = static_dataset(1)
    listed = parse_contenders("production", load_settings().defense)
    notes = bench.run(data, listed, ["benign"]).record.notes
    assert set(notes_on_production(listed)) <= set(notes)
    settings = load_settings(defense={"withstand": 0}).defense
    with pytest.raises(ConfigurationError, match="production: options"):
        bench.run(data, parse_contenders("production", settings), ["benign"])
