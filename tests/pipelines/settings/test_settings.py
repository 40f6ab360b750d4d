"""Settings: which layer wins, what is refused, that workers get them; all are documented."""

import pickle
import re
from pathlib import Path
from time import process_time

import pytest
from pydantic import ValidationError

from radarstream.connectors.models import gguf_tokens
from radarstream.connectors.models.gguf_tokens import GgufTokens
from radarstream.defenses.registry import build_defense
from radarstream.pipelines.build import build_generator, build_tokens, shared_pipeline
from radarstream.pipelines.settings import (
    PROFILES,
    Profile,
    ScriptedGenerator,
    Settings,
    load_settings,
    reference,
)
from radarstream.schemas.errors import ConfigurationError

EXAMPLES = Path(__file__).parents[3] / "infra" / "settings"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for section in ("PROFILE", "DATABASE", "BATCH__SNAPSHOTS", "GENERATOR__KIND"):
        monkeypatch.delenv(f"RADARSTREAM_{section}", raising=False)


def toml(directory: Path, text: str) -> Path:
    file = directory / "settings.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_flags_win_over_environment_over_file_over_profile(tmp_path, monkeypatch) -> None:
    text = 'profile = "api"\ndatabase = "sqlite:///file.db"\n[batch]\nsnapshots = 3\nqueries = 5'
    file = toml(tmp_path, text)
    assert load_settings().profile == "embedded"
    from_file = load_settings(file)
    assert (from_file.profile, from_file.database) == ("api", "sqlite:///file.db")
    monkeypatch.setenv("RADARSTREAM_DATABASE", "sqlite:///environment.db")
    monkeypatch.setenv("RADARSTREAM_BATCH__SNAPSHOTS", "4")
    monkeypatch.setenv("RADARSTREAM_PROFILE", "scripted")
    from_environment = load_settings(file)
    assert from_environment.profile == "scripted"
    assert from_environment.database == "sqlite:///environment.db"
    assert (from_environment.batch.snapshots, from_environment.batch.queries) == (4, 5)
    flags = load_settings(file, profile="embedded", database="sqlite:///flag.db")
    assert (flags.profile, flags.database) == ("embedded", "sqlite:///flag.db")
    assert flags.generator.kind == "llama_cpp"


def test_another_kind_replaces_the_whole_section(tmp_path, monkeypatch) -> None:
    file = toml(tmp_path, 'profile = "api"\n[generator]\nkind = "llama_cpp"\nslots = 3')
    assert load_settings(file).generator.slots == 3  # the profile's `model` is gone
    monkeypatch.setenv("RADARSTREAM_GENERATOR__KIND", "scripted")
    assert load_settings(file).generator == ScriptedGenerator()


@pytest.mark.parametrize(
    ("text", "named"),
    [('databas = "sqlite:///x"', "databas"), ('[kafka]\ngroup = ""', "kafka.group"),
     ("[batch]\nsnapshots = 0\nquerys = 2", "batch.snapshots must.*batch.querys is"),
     ("not toml", "not TOML"), ('profile = "fast"', "fast"), ('profile = ["api"]', "profile"),
     ('[generator]\nkind = "oracle"', "oracle"), ('[generator]\nkind = "openai"', "model"),
     ('[kafka]\nbootstrap = ""', "kafka.bootstrap"),
     *((f'[kafka]\nbootstrap = "{wrong}"', "host:port")
       for wrong in ("broker", "a:9092,", "kafka://a:9092", "a:99999")),
     ("[kafka]\nrequest_timeout_s = inf\ndelivery_timeout_s = inf", "finite"),
     ("[job]\nbatch_seconds = inf", "job.batch_seconds")],
)  # fmt: skip
def test_wrong_settings_are_named(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        load_settings(toml(tmp_path, text))


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("RADARSTREAM_DATABSE", "x", "RADARSTREAM_DATABSE"),
        ("RADARSTREAM_GENERATR__SLOTS", "3", "RADARSTREAM_GENERATR__SLOTS"),
        ("RADARSTREAM_BATCH__SNAPSHOT", "3", "batch.snapshot"),
        ("RADARSTREAM_BATCH__SNAPSHOTS", "many", "batch.snapshots"),
        ("RADARSTREAM_GENERATOR", "{broken", "generator"),
        ("RADARSTREAM_PROFILE", "fast", "fast"),
    ],
)
def test_wrong_variables_are_named(monkeypatch, variable, value, named) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=named):
        load_settings()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[generator]\nslotz = 3", "generator.slotz is not a setting; did you mean"),
        ("[alerts.webhook]\nurll = 'x'", "alerts.webhook.url is not given"),
        ("[batch]\nzzz = 3", "batch.zzz is not a setting"),
        ("batch = 3", "batch must be a section"),
        ("[job]\npartitions = 3", "job.partitions must be a list"),
        ("[batch]\nsnapshots = 0", "batch.snapshots must be greater than or equal to 1"),
        ("[alerts.webhook]\nurl = 'ftp://x'", "alerts.webhook is refused: the webhook's url must"),
    ],
)
def test_a_refusal_names_file_and_setting_in_plain_words(tmp_path, text, said) -> None:
    file = toml(tmp_path, text)
    with pytest.raises(ConfigurationError) as refusal:
        load_settings(file)
    message = str(refusal.value)
    assert message.startswith(f"{file}: {said}")
    assert not any(phrase in message for phrase in ("Value error", "Input", "Extra inputs"))


def test_a_refusal_names_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = toml(tmp_path, "[kafka]\nbootstrap = 'a:1'")
    monkeypatch.setenv("RADARSTREAM_KAFKA__BOOTSTAP", "b:1")
    with pytest.raises(ConfigurationError) as refusal:
        load_settings(file)
    said = "kafka.bootstap is not a setting; did you mean kafka.bootstrap?"
    assert str(refusal.value) == f"RADARSTREAM_KAFKA__BOOTSTAP: {said}"
    monkeypatch.setenv("RADARSTREAM_KAFKAA__BOOTSTRAP", "b:1")
    with pytest.raises(ConfigurationError, match="^RADARSTREAM_KAFKAA__BOOTSTRAP is not a setting"):
        load_settings(file)
    monkeypatch.delenv("RADARSTREAM_KAFKAA__BOOTSTRAP")
    monkeypatch.setenv("RADARSTREAM_DOCUMENTS__INNER_NETWORKS", "10.0.0.0/8")
    with pytest.raises(ConfigurationError, match="^RADARSTREAM_DOCUMENTS__INNER_NETWORKS: .* JSON"):
        load_settings()


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    for file in (tmp_path / "missing.toml", tmp_path, binary):
        with pytest.raises(ConfigurationError, match=file.name):
            load_settings(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 50_000, "no setting accepts"),
        ("[generator]\nslots = " + "9" * 100_000, "no setting accepts"),
        ("[generator]\nslots = 2001-99-99", "not TOML"),
        ("\n".join(f"a{i} = 1" for i in range(10_000)), "and 9970 more$"),
        ("#" * (2**20 + 1), "over 1048576 bytes"),
    ],
    ids=lambda text: text[:20],
)
def test_settings_out_of_all_proportion_are_refused_at_once(tmp_path, text, said) -> None:
    start = process_time()
    with pytest.raises(ConfigurationError, match=said):
        load_settings(toml(tmp_path, text))
    assert process_time() - start < 3.0


@pytest.mark.parametrize("value", ["[" * 50_000, '{"a":' * 50_000])
def test_a_deeply_nested_variable_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("RADARSTREAM_GENERATOR", value)
    with pytest.raises(ConfigurationError, match="nested too deeply"):
        load_settings()


@pytest.mark.parametrize("profile", list(PROFILES))
def test_settings_travel_to_workers_and_cannot_change(profile: Profile) -> None:
    settings = load_settings(profile=profile)
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert type(settings).model_validate_json(settings.model_dump_json()) == settings
    with pytest.raises(ValidationError):
        settings.database = "sqlite:///other.db"


def test_a_refusal_does_not_repeat_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value in the wrong place may be a password."""
    monkeypatch.setenv("RADARSTREAM_CACHE__MAX_ENTRIES", "hunter2")
    monkeypatch.setenv("RADARSTREAM_LIMITS__PASSWORD", "hunter2")
    with pytest.raises(ConfigurationError) as refusal:
        load_settings()
    assert "hunter2" not in str(refusal.value)


def test_a_process_shares_one_guard_per_settings(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'state.db'}"
    one = load_settings(profile="scripted", database=url)
    same = load_settings(profile="scripted", database=url)
    other = load_settings(profile="scripted", database=url, batch={"snapshots": 2})
    assert shared_pipeline(one) is shared_pipeline(same)
    assert shared_pipeline(one) is not shared_pipeline(other)


def test_wiring_of_a_service_wants_its_key_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = {"model": "m", "api_key_variable": "TEST_KEY"}
    settings = load_settings(profile="api", generator=generator).generator
    monkeypatch.delenv("TEST_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="TEST_KEY"):
        build_generator(settings)
    monkeypatch.setenv("TEST_KEY", "sk-1")
    assert build_generator(settings).model_id.startswith("openai/api.openai.com/m/")


def test_a_service_tells_no_token_probabilities_unless_said_so(monkeypatch) -> None:
    assert build_tokens(load_settings(profile="api")) is None
    assert build_tokens(load_settings(profile="scripted", tokens={"kind": "none"})) is None
    monkeypatch.setattr(gguf_tokens, "converted", None)  # it loads late: calling it would fail
    assert build_tokens(load_settings(profile="embedded")) == GgufTokens()
    assert GgufTokens().log_probs([]) == []


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda file: file.stem)
def test_the_example_settings_are_valid(file: Path) -> None:
    settings = load_settings(file)
    assert f'profile = "{settings.profile}"' in file.read_text()
    build_defense(settings.defense.name, settings.defense.options)


def test_groups_differ_between_topic_prefixes(tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('[kafka]\ntopic_prefix = "staging."\n[alerts]\ntags = ["a"]\n')
    staging = load_settings(config)
    groups = (staging.kafka.group, staging.alerts.group)
    assert groups == ("staging.radarstream", "staging.radarstream-alerts")
    config.write_text('[kafka]\ngroup = "own"\n[alerts]\ngroup = "told"\n')
    own = load_settings(config)
    assert (own.kafka.group, own.alerts.group) == ("own", "told")
    assert load_settings(None).alerts.group == "radarstream-alerts"


def test_the_file_is_as_generated() -> None:
    assert reference.FILE.read_text("utf-8") == reference.rendered()


def test_every_key_of_every_section_and_kind_is_listed_once_with_its_meaning() -> None:
    text = reference.rendered()
    for words in ("| `kafka.group` |", "| `alerts.webhook.url` |", "| `watch.pages.redirects` |",
                  "| `job.partitions` |", "| **`[generator]`** kind `openai` | | | *",
                  '| `job.membership` | `assign`, `group` | `"assign"` |',
                  "Its keys are those of `generator`."):  # fmt: skip
        assert words in text
    assert "| `tokens.base_url` |" not in text
    rows = re.findall(r"^\| `([^`]+)` \|(.*)$", text, re.MULTILINE)
    assert len(set(rows)) == len(rows) > 150
    assert [name for name, row in rows if row.endswith("|  |")] == []
    groups = [name for names in reference.GROUPS.values() for name in names]
    assert set(Settings.model_fields) == set(groups)
