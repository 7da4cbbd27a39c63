"""A measurement from another card: what it cannot do is named, what it did is kept, shown as a further column, and accepted."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from broken import ADA, FOLDER, weaker

import changes
import concerns
import gpu
import measuring
import record
from project import CANNOT, write
from rules.cards import device


def test_a_weaker_card_is_accepted_and_gets_a_column(copy: Path) -> None:
    weaker()(copy / ADA)
    assert changes.is_new(copy / ADA)
    for path, text in record.tables_of([copy / FOLDER]):
        write(path, text)
    assert concerns.problems_of(changes.changed_files(), programs=False) == []
    table = (copy / FOLDER / "transpose.en.md").read_text("utf-8")
    assert "<br>H200" in table
    assert "<br>RTX 4090" in table


def test_a_card_that_contradicts_the_page_is_kept_and_says_so(copy: Path) -> None:
    changes_of_it = {"tile_padded__measured_bandwidth_gb_s": 300.0, "tile_padded__measured_time_ms": 1.79, "tile_padded__measured_copy_share": 0.33}
    weaker(**changes_of_it)(copy / ADA)
    [problem] = [problem for problem in concerns.problems_of([copy / ADA], programs=False) if problem.rule == "R4"]
    assert 'writes "differs"' in problem.text
    weaker(**changes_of_it, differs="tile_padded: 0.33 of the copy")(copy / ADA)
    assert concerns.problems_of([copy / ADA], programs=False) == []
    assert "not all of the bench's claims hold" in next(text for path, text in record.tables_of([copy / FOLDER]) if path.name == "transpose.en.md")


def test_a_record_of_an_earlier_version_is_compared_with_that_version(copy: Path) -> None:
    import subprocess

    weaker()(copy / ADA)
    identity = ["git", "-c", "user.name=t", "-c", "user.email=t@t.invalid"]
    subprocess.run([*identity, "add", "."], cwd=copy, check=True)
    subprocess.run([*identity, "commit", "-qm", "ada"], cwd=copy, check=True)
    bench = copy / FOLDER / "bench_transpose.py"
    bench.write_text(bench.read_text("utf-8") + "\nMORE = 1\n", "utf-8")
    changes.base.cache_clear()
    assert not [problem for problem in concerns.problems_of([copy / ADA], programs=False) if problem.path == ADA]
    kept = json.loads((copy / ADA).read_text("utf-8"))
    kept["rows"]["naive"]["predicted_load_conflicts"] = 7
    (copy / ADA).write_text(json.dumps(kept), "utf-8")
    assert next(problem.rule for problem in concerns.problems_of([copy / ADA], programs=False) if problem.path == ADA) == "R3"
    kept["sources"]["stride.py"] = "0" * 64
    (copy / ADA).write_text(json.dumps(kept), "utf-8")
    [problem] = [problem for problem in concerns.problems_of([copy / ADA], programs=False) if problem.path == ADA]
    assert "git holds no stride.py" in problem.text


def described(**changed: Any) -> dict[str, Any]:
    """Stand in for what a card of Ada says of itself."""
    versions = {"driver": "580.1", "nvrtc": "13.0", "cupy": "14.2.0", "ncu": "2025.3.1.0"} | changed.pop("versions", {})
    return {"gpu": "NVIDIA GeForce RTX 4090", "compute_capability": "8.9", "versions": versions, "conditions": {"clocks": "not locked"}} | changed


def test_what_a_card_cannot_do_is_skipped_with_the_reason(copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = copy / FOLDER / "stride.cu"
    kernel.write_text(kernel.read_text("utf-8").replace("// arch: sm_80 sm_90a", "// arch: sm_90a"), "utf-8")
    rows = json.loads((copy / FOLDER / "transpose.h200.json").read_text("utf-8"))["rows"]
    for row in rows.values():
        row["measured_time_ms"] *= 4.5
        row["measured_bandwidth_gb_s"] /= 4.5
    monkeypatch.setattr(gpu, "describe", described)
    monkeypatch.setattr(measuring, "run_bench", lambda _bench, tolerant: (0, json.dumps({"rows": rows})) if tolerant else (1, ""))
    assert measuring.measure([copy / FOLDER], "gpu") == 0
    told = capsys.readouterr().err
    assert "skipped: snippets/bank-conflicts/bench_stride.py: stride.cu is for sm_90a, and this card is sm_89" in told
    assert f"written: {ADA}" in told
    assert json.loads((copy / ADA).read_text("utf-8"))["gpu"] == "NVIDIA GeForce RTX 4090"


def test_counters_that_nobody_may_read(copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: ARG001 - as above
    refused = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters"
    monkeypatch.setattr(gpu, "find_ncu", lambda: "ncu")
    monkeypatch.setattr("gpu.subprocess.run", lambda *_words, **_options: SimpleNamespace(stdout=refused, stderr="", returncode=1))
    with pytest.raises(gpu.CannotMeasureError) as error:
        gpu.counters(["x"], "y")
    assert error.value.code == CANNOT
    assert "NVreg_RestrictProfilingToAdminUsers=0" in capsys.readouterr().err


def test_no_cupy_is_said_with_the_way_out() -> None:
    with pytest.raises(SystemExit, match="pip install cupy-cuda13x"):
        gpu.describe()


def test_a_kernel_runs_on_its_architecture_and_on_later_ones() -> None:
    assert gpu.fitting("// arch: sm_80 sm_90a\n", 89) == ["sm_80"]
    assert gpu.fitting("// arch: sm_80 sm_90a\n", 90) == ["sm_80", "sm_90a"]
    assert gpu.fitting("// arch: sm_90a\n", 100) == []
    assert gpu.fitting("// arch: sm_80\n", 75) == []


def test_a_file_is_named_after_the_card() -> None:
    assert device("NVIDIA H200") == "h200"
    assert device("NVIDIA GeForce RTX 4090") == "rtx4090"
    assert device("Tesla V100-SXM2-16GB") == "v100sxm216gb"


BENCH = """\
import json
import gpu
TABLES = {}
def predict(inputs): return {}
def check(rows): assert rows["a"]["measured_time_ms"] < 1, "slower than an H200"
def main():
    rows = {"a": {"measured_time_ms": 2.5}}
    check(rows)
    print(json.dumps({"rows": rows}))
if __name__ == "__main__":
    main()
"""


def test_another_cards_rows_survive_the_pages_claims(tmp_path: Path) -> None:
    bench = tmp_path / "bench_slow.py"
    bench.write_text(BENCH, "utf-8")
    status, printed = measuring.run_bench(bench, tolerant=True)
    assert status == 0
    assert json.loads(printed) == {"rows": {"a": {"measured_time_ms": 2.5}}}
    assert measuring.run_bench(bench, tolerant=False)[0] == 1


def test_a_missing_library_is_named_with_the_way_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bench = tmp_path / "bench_library.py"
    bench.write_text(BENCH.replace('rows = {"a"', 'import no_such_library; rows = {"a"'), "utf-8")
    assert measuring.run_bench(bench, tolerant=True)[0] == CANNOT
    assert "it needs no_such_library: .venv/bin/python -m pip install no_such_library" in capfd.readouterr().err
