"""The snippet protocol: what is kept is what the scripts print, records are of their sources, kernels compile."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import measuring
import nvrtc
import record
import restamp
from project import ROOT, SNIPPETS, digest, record_files, scripts_of, shown, snippet_folders, sources_of
from rules import agreement

FOLDERS = snippet_folders()
SOURCES = [path for path in sorted(SNIPPETS.glob("*/*.cu")) if nvrtc.compiles_alone(path.read_text("utf-8"))]
KERNELS = [(path, arch) for path in SOURCES for arch in nvrtc.architectures(path.read_text("utf-8"))]
CPU_BENCH = """import json
DEVICE = "cpu"
TABLES = {"all": {"calls": ("调用", "Calls"), "counted_traces": ("实测", "Counted")}}
def predict(inputs): return {}
def check(rows): assert rows
if __name__ == "__main__":
    print(json.dumps({"rows": {"one": {"calls": 3, "counted_traces": 1}}, "versions": {"Library": "1.2"}}))
"""
needs_compiler = pytest.mark.skipif(sys.platform == "darwin", reason="NVIDIA publishes no CUDA compiler for macOS")


def test_a_script_whose_tools_are_missing_keeps_its_output_except_in_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needs_more.py").write_text("import sys\nprint('a C++ compiler is missing', file=sys.stderr)\nsys.exit(77)\n", "utf-8")
    monkeypatch.delenv("CI", raising=False)
    assert list(record.printed([tmp_path])) == []
    monkeypatch.setenv("CI", "true")
    with pytest.raises(SystemExit, match="C\\+\\+ compiler is missing"):
        list(record.printed([tmp_path]))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_outputs_and_tables_are_what_the_scripts_print(folder: Path) -> None:
    assert list(record.differences(record.printed([folder]))) + list(record.differences(record.tables_of([folder]))) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_records_are_of_their_sources_and_agree_with_the_model(folder: Path) -> None:
    assert list(agreement.folder_records(folder)) == []


def test_gathered_pages_are_current() -> None:
    import pages

    assert list(record.differences(pages.gathered())) == []


def test_only_cutlass_is_left_to_another_compiler() -> None:
    assert [shown(path) for path in SNIPPETS.glob("*/*.cu") if path not in SOURCES] == ["snippets/cutlass-gemm/collective.cu"]


@needs_compiler
@pytest.mark.parametrize(("path", "arch"), KERNELS, ids=[f"{shown(path)}-{arch}" for path, arch in KERNELS])
def test_kernel_compiles(path: Path, arch: str) -> None:
    assert nvrtc.compile_kernels(path.read_text("utf-8"), arch)


def test_a_changed_kernel_is_noticed_and_the_message_says_what_to_do(tmp_path: Path) -> None:
    folder = next(folder for folder in FOLDERS if list(folder.glob("*.h200.json")) and list(folder.glob("*.cu")))
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    kernel = next(path for bench in scripts_of(copy, "bench") for path in sources_of(bench) if path.suffix == ".cu")
    kernel.write_text(kernel.read_text("utf-8").replace(";", "; ", 1), "utf-8")
    problems = list(map(str, agreement.folder_records(copy)))
    assert problems
    assert all(word in problems[0] for word in (kernel.name, "--restamp", "--gpu", "outdated"))


def test_a_row_that_the_model_contradicts_is_noticed(tmp_path: Path) -> None:
    copy = tmp_path / "bank-conflicts"
    shutil.copytree(SNIPPETS / "bank-conflicts", copy)
    bench = scripts_of(copy, "bench")[0]
    path = record_files(bench)[0]
    kept = json.loads(path.read_text("utf-8"))
    row = next(row for row in kept["rows"].values() if any(key.startswith("predicted_") for key in row))
    key = next(key for key in row if key.startswith("predicted_"))
    row[key] += 1
    path.write_text(json.dumps(kept), "utf-8")
    assert any("the model says" in problem.text for problem in agreement.record_problems(path, bench))


def test_a_bench_for_a_cpu_leaves_a_record_that_names_its_libraries(tmp_path: Path) -> None:
    bench = tmp_path / "bench_x.py"
    bench.write_text(CPU_BENCH, "utf-8")
    assert "--cpu" in str(next(agreement.folder_records(tmp_path)))
    assert measuring.measure([tmp_path], "gpu") == 0  # which needs no GPU: there is nothing to run on one
    assert measuring.measure([tmp_path], "cpu") == 0
    kept = json.loads((tmp_path / "x.cpu.json").read_text("utf-8"))
    assert kept["versions"] == {"Library": "1.2"}
    assert kept["command"].endswith("--cpu")
    assert list(agreement.folder_records(tmp_path)) == []
    tables = {path.name: text for path, text in record.tables_of([tmp_path])}
    assert "Counted<br>CPU" in tables["x.en.md"]
    assert "Library 1.2" in tables["x.en.md"]
    bench.write_text(CPU_BENCH + "ROWS = 2\n", "utf-8")
    assert "--cpu" in str(next(agreement.folder_records(tmp_path)))


@needs_compiler
def test_restamp_tells_a_comment_from_a_change() -> None:
    kernel = '// arch: sm_80\nextern "C" __global__ void f(float *a) { a[threadIdx.x] *= 2; }\n'
    assert restamp.same(kernel, kernel.replace(" }", " /* doubled */ }"), "x.cu")
    assert not restamp.same(kernel, kernel.replace("2", "3"), "x.cu")
    assert restamp.same("a = 1\n", "a = 1  # one\n", "bench_x.py")
    assert not restamp.same("a = 1\n", "a = 2\n", "bench_x.py")
    assert restamp.same('def main():\n    """Run it."""\n    a()\n', 'def main():\n    """Measure."""\n    a()\n', "bench_x.py")
    assert not restamp.same('def main():\n    """Run it."""\n    a()\n', 'def main():\n    """Run it."""\n    b()\n', "bench_x.py")
    assert restamp.same("TABLES = {1: 2}\na = 1\n", "TABLES = {}\na = 1\n", "bench_x.py")
    assert restamp.same("def check(rows):\n    assert rows\n", "def check(rows):\n    assert len(rows) > 1\n", "bench_x.py")
    assert restamp.same("def predict(inputs):\n    return {}\n", "def predict(inputs):\n    return {1: 2}\n", "bench_x.py")
    assert restamp.same("def main():\n    print(1)\n", "def main():\n    print(2)\n", "model.py")
    assert not restamp.same("def main():\n    print(1)\n", "def main():\n    print(2)\n", "bench_x.py")


def test_restamp_writes_the_new_digest_and_keeps_the_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "snippets" / "x"
    folder.mkdir(parents=True)
    bench = folder / "bench_x.py"
    bench.write_text("rows = 1\n", "utf-8")
    kept = folder / "x.h200.json"
    kept.write_text(json.dumps({"recorded": "2026-01-01", "sources": {"bench_x.py": digest(bench)}}), "utf-8")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t.invalid"]
    for command in (["git", "init", "-q"], ["git", "add", "."], [*git, "commit", "-qm", "x"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    monkeypatch.setattr(restamp, "ROOT", tmp_path)
    monkeypatch.setattr("project.ROOT", tmp_path)
    bench.write_text("rows = 1  # one row\n", "utf-8")
    assert "new digests" in next(restamp.folder(folder))
    assert json.loads(kept.read_text("utf-8")) == {"recorded": "2026-01-01", "sources": {"bench_x.py": digest(bench)}}
    bench.write_text("rows = 2\n", "utf-8")
    assert "stays" in next(restamp.folder(folder))


def test_check_command_is_green() -> None:
    # The command that a contributor runs; its parts are tested above, so one folder is enough here.
    done = subprocess.run([sys.executable, "scripts/record.py", "warp-divergence", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout + done.stderr
