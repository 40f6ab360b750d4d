"""The checked-in JSON Schema files describe what the codec writes and what it refuses."""

import json

import pytest
from jsonschema import Draft202012Validator

from radarstream.schemas.codec import WIRE_SCHEMAS, encode
from radarstream.schemas.json_schema import DIRECTORY, file_name, rendered, written
from tests.wire_samples import ANSWER, SAMPLES

named = pytest.mark.parametrize(
    "sample", SAMPLES, ids=lambda sample: WIRE_SCHEMAS[type(sample)].name
)


def validator(sample) -> Draft202012Validator:
    path = DIRECTORY / file_name(WIRE_SCHEMAS[type(sample)])
    return Draft202012Validator(
        json.loads(path.read_text("utf-8")), format_checker=Draft202012Validator.FORMAT_CHECKER
    )


def test_files_are_up_to_date_and_describe_nested_members() -> None:
    present = {path.name: path.read_text("utf-8") for path in DIRECTORY.glob("*.json")}
    assert present == rendered(), "run python -m radarstream.schemas.json_schema"
    payload = json.loads(encode(ANSWER))
    payload["verdict"]["documents"][0]["reason"] = "whim"
    assert not validator(ANSWER).is_valid(payload)


@named
def test_samples_validate_and_others_do_not(sample) -> None:
    checker = validator(sample)
    checker.check_schema(checker.schema)
    checker.validate(json.loads(encode(sample)))
    assert checker.schema["$id"] == WIRE_SCHEMAS[type(sample)].uri
    payload = json.loads(encode(sample))
    assert not validator(sample).is_valid({**payload, "schema": "something.else/1"})
    assert not validator(sample).is_valid({**payload, "extra": 1})
    del payload["schema"]
    assert not validator(sample).is_valid(payload)


def test_check_notices_changed_and_missing_files(tmp_path, capsys) -> None:
    files = {tmp_path / "a.json": "1", tmp_path / "b.json": "2"}
    assert written(files, ["--check"]) == 1
    assert written(files, []) == 0
    assert written(files, ["--check"]) == 0
    (tmp_path / "b.json").write_text("{}")
    assert written(files, ["--check"]) == 1
    assert "b.json" in capsys.readouterr().err
