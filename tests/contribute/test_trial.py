"""A bench is tried before a GPU runs it: what fails by itself is named, what only a measurement can tell is not."""

from pathlib import Path

import pytest

import benches
import record
from rules import agreement

TABLES = """{
    "counts": {"a": ("a", "a"), "predicted_x": ("x", "x"), "counted_x": ("x", "x"), "measured_time_us": ("t", "t")},
    "more": {"b": ("b", "b"), "predicted_x": ("x", "x")},
}"""
BENCH = f"""
TABLES = {TABLES}
def inputs():
    return {{"one": {{"a": 1}}, "two": {{"a": 2, "b": True}}}}
def predict(inputs):
    return {{"predicted_x": 2 * inputs["a"]}}
def check(rows):
    one, two = rows["one"], rows["two"]
    CLAIM
def main():
    pass
"""
HOLDS = {
    "counters as predicted": 'assert one["counted_x"] == one["predicted_x"]',
    "a ratio of times": 'assert abs(two["measured_time_us"] / (one["measured_time_us"] + 1) - 1) < 0.1 > -round(one["measured_time_us"], 2)',
    "a counter without a prediction": 'assert 1 < one["counted_y"] < 2 and sum([one["counted_y"], 4]) == 5 != min(one["counted_y"], 4)',
    "a number that only a GPU has": 'assert float(one["measured_time_us"]) < 0; assert nothing',
    "a row that is asked": 'assert one.get("measured_time_us") > 5 and one.get("note") is None',
}


def written(folder: Path, claim: str) -> Path:
    """Write the bench with a claim."""
    bench = folder / "bench_x.py"
    bench.write_text(BENCH.replace("CLAIM", claim), "utf-8")
    return bench


@pytest.mark.parametrize("name", HOLDS)
def test_what_only_a_gpu_can_tell_is_left_open(name: str, tmp_path: Path) -> None:
    trial = benches.ask(written(tmp_path, HOLDS[name]), [])["trial"]
    assert (trial["wrong"], trial["doubt"]) == ("", "")
    assert trial["rows"] == {"one": {"a": 1, "predicted_x": 2}, "two": {"a": 2, "b": True, "predicted_x": 4}}
    [problem] = agreement.folder_records(tmp_path)
    assert problem.rule == "R11"
    assert "it predicts 2 rows in 0.0 s: python3" in problem.text


def test_claims_that_refuse_the_predictions_are_said_and_allowed(tmp_path: Path) -> None:
    written(tmp_path, 'assert one["counted_x"] > one["predicted_x"], one["measured_time_us"]')
    [problem] = agreement.folder_records(tmp_path)
    assert problem.rule == "R11"
    assert "check refuses them, which has to be meant: not measured" in problem.text


def test_a_typing_error_in_a_claim_is_found(tmp_path: Path) -> None:
    written(tmp_path, 'assert one["predicted_y"]')
    assert [problem.rule for problem in agreement.folder_records(tmp_path)] == ["R11", "S9"]


def test_a_claim_without_words_is_named_by_its_line(tmp_path: Path) -> None:
    bench = written(tmp_path, 'assert one["counted_x"] == 7')
    rows = {name: row | {"counted_x": 2} for name, row in benches.ask(bench, [])["trial"]["rows"].items()}
    assert benches.ask(bench, [{"rows": rows}])["records"][0]["differs"] == 'assert one["counted_x"] == 7'


def test_the_tables_show_what_is_predicted(tmp_path: Path) -> None:
    written(tmp_path, "assert one")
    english = next(text for path, text in record.tables_of([tmp_path]) if path.name == "x.en.md")
    assert "| a | x | x<br>not measured yet | t<br>not measured yet |" in english
    assert "| 1 | 2 | – | – |" in english
    assert "| b | x |\n| ---: | ---: |\n| ✓ | 4 |" in english
    assert "Not measured yet: `python3" in english
