"""What is built for runnable blocks: the same bytes each time, the parameters as the snippets declare them, archives that run."""

import gzip
import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import parameters
import project
import run_build
import web_build
from project import ROOT, SNIPPETS

HOOKS = ROOT / "scripts" / "hooks"


def test_the_runtime_is_the_same_bytes_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_build, "CACHE", tmp_path / "another place")
    manifest = json.loads((web_build.BUILT / "manifest.json").read_text())
    for name, made in run_build.built(web_build._esbuild, web_build._node).items():  # noqa: SLF001 - the build's own tools
        assert (web_build.BUILT / manifest[name]).read_bytes() == made, name


def test_the_runtime_has_a_trimmed_and_compiled_library() -> None:
    manifest = json.loads((web_build.BUILT / "manifest.json").read_text())
    packed = gzip.decompress((web_build.BUILT / manifest["python.bin"]).read_bytes())
    head, _, content = packed.partition(b"\n")
    lengths = json.loads(head)
    assert list(lengths) == ["wasm", "worker", "library"]
    assert sum(lengths.values()) == len(content)
    names = zipfile.ZipFile(io.BytesIO(content[-lengths["library"] :])).namelist()
    assert {"_warpwise.pyc", "statistics.pyc", "dataclasses.pyc", "json/__init__.pyc", "encodings/utf_8.pyc"} <= set(names)
    assert not [name for name in names if not name.endswith(".pyc") or name.startswith(("sqlite3/", "unittest/", "_pyrepl/"))]
    # The runtime knows no address that it could ask.
    worker = content[lengths["wasm"] : lengths["wasm"] + lengths["worker"]].decode()
    assert "https://runtime.invalid/" in worker


def test_without_the_browsers_packages_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_build, "WEB", tmp_path)
    with pytest.raises(SystemExit, match=r"^the browser's packages are not installed: python3 scripts/dev\.py build installs them$"):
        web_build.build(tmp_path / "built")


def test_parameters_are_read_as_declared() -> None:
    found = parameters.parameters(
        'STRIDE = 8  # 1..33: elements\nSCALE = -0.5  # -1..1 by 0.25\nBYTES = 4  # 2 | 4 | 8: an element\nMODE = "row"  # "row" | "column"\n'
        "ON = False  # whether\nPLAIN = 3  # no bounds: no control\nlower = 1  # 0..2\nif True:\n    INNER = 1  # 0..2\n"
    )
    assert {name: parameter.described() for name, parameter in found.items()} == {
        "STRIDE": {"name": "STRIDE", "value": "8", "min": 1, "max": 33, "step": 1},
        "SCALE": {"name": "SCALE", "value": "-0.5", "min": -1, "max": 1, "step": 0.25},
        "BYTES": {"name": "BYTES", "value": "4", "choices": ["2", "4", "8"]},
        "MODE": {"name": "MODE", "value": '"row"', "choices": ['"row"', '"column"']},
        "ON": {"name": "ON", "value": False},
    }


@pytest.mark.parametrize(("source", "message"), [("A = 9  # 0..4", "lies outside its own range 0..4"), ("A = 3  # 2 | 4", "none of its own choices")])
def test_a_value_outside_its_bounds_is_noticed(source: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parameters.parameters(source)


def test_an_archive_for_a_gpu_holds_all_that_its_bench_imports(site: Path, tmp_path: Path) -> None:
    archives = sorted((site / "snippets").rglob("*.zip"))
    assert archives
    for archive in archives:
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(tmp_path)
            assert {entry.date_time for entry in opened.infolist()} == {(1980, 1, 1, 0, 0, 0)}
            names = {Path(name).name for name in opened.namelist()}
        bench = next(name for name in names if name.startswith("bench_"))
        assert {"gpu.py", "nvrtc.py"} <= names
        # Without a GPU it can at least be imported, alone in its folder.
        done = subprocess.run(
            [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.'); import {bench.removesuffix('.py')} as bench; bench.TABLES"],
            cwd=tmp_path / archive.stem,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, f"{archive.name}: {done.stderr}"


def test_each_kernel_that_a_bench_measures_is_offered_with_it(site: Path) -> None:
    for path in site.glob("**/index.html"):
        text = path.read_text("utf-8")
        folder = SNIPPETS / path.parent.name
        benches = project.scripts_of(folder, "bench") if folder.is_dir() else []
        measured = {source.name for bench in benches for source in project.sources_of(bench)}
        for kernel in measured & set(re.findall(r'language-cuda highlight"><span class="filename">(\w+\.cu)<', text)):
            shown = rf'<p class="kernel">.*?href="([^"]+\.zip)" download>.*?<code>{re.escape(kernel)}</code>.*?<code>python (bench_\w+\.py)</code>'
            found = re.search(shown, text)
            assert found, f"{path.relative_to(site)} shows {kernel} without a way to measure it"
            with zipfile.ZipFile((path.parent / found[1]).resolve()) as archive:
                assert {kernel, found[2]} <= {Path(name).name for name in archive.namelist()}


def test_what_a_block_gets_is_what_is_published(site: Path) -> None:
    for path in site.glob("**/index.html"):
        for address, folder, script in re.findall(r'data-files="([^"]+)"[^>]*data-snippet="([\w-]+)/(\w+\.py)"', path.read_text("utf-8")):
            files = json.loads((path.parent / address).resolve().read_text("utf-8"))
            assert files[script] == project.published(SNIPPETS / folder / script)
            assert not [name for name in files if name.startswith(("bench_", "asm_"))]
