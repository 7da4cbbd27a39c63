"""A lab's notebook is what its script gives, says the same in both languages, and makes a light page without third parties."""

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import jupytext
import pytest
from selectolax.lexbor import LexborHTMLParser

import digits
import lab_digits
import labs
import pages
from project import LANGUAGES, ROOT, SNIPPETS, published, read_record

SCRIPTS = sorted((SNIPPETS / "labs").glob("*.*.py"))
NAMES = sorted({script.name.partition(".")[0] for script in SCRIPTS})
HEADING = re.compile(r"^#{1,6} .*", re.MULTILINE)
LIGHT, DARK = "#ffffff", "#1e2129"  # the papers on which a series must be seen; the site's own dark one is darker
HEAVIEST = 120_000  # bytes of a lab's page, compressed, without its figures

FIGURE = """\
# %%
import matplotlib.pyplot as plt
from matplotlib_inline.backend_inline import set_matplotlib_formats

set_matplotlib_formats({kind!r})

# %%{caption}
plt.plot([1, 2])
plt.show()
"""


@pytest.fixture(scope="module")
def executed() -> list[tuple[Path, str]]:
    return labs.executed()


def test_notebooks_are_what_their_scripts_give(executed: list[tuple[Path, str]]) -> None:
    for path, text in executed:
        assert path.is_file(), f"{path} is missing: python3 scripts/record.py labs"
        assert path.read_text("utf-8") == text, f"{path} is not what its script gives: python3 scripts/record.py labs, then read the diff"
    kept = {path for language in ("zh", "en") for path in (ROOT / "docs" / language / "labs").glob("*.ipynb")}
    assert kept == {path for path, _ in executed}, "a notebook without a script: delete it"


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_run_the_same_code_under_the_same_headings(name: str) -> None:
    chinese, english = (jupytext.read(SNIPPETS / "labs" / f"{name}.{language}.py", fmt="py:percent") for language in ("zh", "en"))
    assert [cell.cell_type for cell in chinese.cells] == [cell.cell_type for cell in english.cells]
    for number, (here, there) in enumerate(zip(chinese.cells, english.cells, strict=True), 1):
        if here.cell_type == "code":
            assert here.source == there.source, f"{name}: cell {number} differs between the languages"
            assert here.metadata.keys() == there.metadata.keys(), f"{name}: only one language has a caption for cell {number}"
        else:
            assert heading_ids(here.source) == heading_ids(there.source), f"{name}: the headings of cell {number} have other ids"
    assert chinese.metadata["page"].keys() == english.metadata["page"].keys()
    assert chinese.metadata["page"]["data"] == english.metadata["page"]["data"]
    assert chinese.metadata["page"]["tags"] == english.metadata["page"]["tags"]


def test_a_failing_cell_fails_with_its_place_and_the_end_of_its_traceback(tmp_path: Path) -> None:
    (tmp_path / "broken.en.py").write_text("# %% [markdown]\n# # Broken\n\n# %%\nshare = 1 / 0\n")
    with pytest.raises(SystemExit, match=r"broken\.en\.py: cell 2, which begins with 'share = 1 / 0', failed:\n(?s:.*)ZeroDivisionError"):
        labs.executed(tmp_path)


def test_what_a_cell_prints_with_a_pause_is_one_output(tmp_path: Path) -> None:
    (tmp_path / "slow.en.py").write_text("# %%\nimport time\n\nprint(1, flush=True)\ntime.sleep(0.5)\nprint(2)\n")
    assert outputs(json.loads(labs.execute(tmp_path / "slow.en.py"))) == [("text/plain", "1\n2\n")]


@pytest.mark.parametrize(("kind", "caption", "message"), [("svg", "", "has no name"), ("png", ' caption="A line."', "leaves image/png")])
def test_a_figure_that_the_site_cannot_show_fails(tmp_path: Path, kind: str, caption: str, message: str) -> None:
    (tmp_path / "figure.en.py").write_text(FIGURE.format(kind=kind, caption=caption))
    with pytest.raises(SystemExit, match=message):
        labs.executed(tmp_path)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_lab_runs_beside_its_downloaded_data_and_says_what_is_missing_without(
    script: Path, tmp_path: Path, executed: list[tuple[Path, str]]
) -> None:
    shutil.copy(script, tmp_path)
    data = jupytext.read(script, fmt="py:percent").metadata["page"]["data"]
    with pytest.raises(SystemExit, match=re.escape(Path(data[0]).name)):
        labs.executed(tmp_path)
    for name in data:
        (tmp_path / Path(name).name).write_text(published(SNIPPETS / name), "utf-8")
    assert labs.executed(tmp_path) == [(path, text) for path, text in executed if path == labs.notebook_of(script)]


def test_outputs_bring_no_style_and_no_script(executed: list[tuple[Path, str]]) -> None:
    for path, text in executed:
        for kind, output in outputs(json.loads(text)):
            assert kind in {"text/plain", "text/markdown", "image/svg+xml"}, (path, kind)
            assert not re.search(r"\bstyle=|<style|<script|\bon\w+=|javascript:|<metadata|\n\s*\n(?=.*</svg>)", output), (path, output[:200])


def test_figures_have_a_name_and_can_be_seen_on_light_and_dark(executed: list[tuple[Path, str]]) -> None:
    for path, text in executed:
        figures = [output for kind, output in outputs(json.loads(text)) if kind == "image/svg+xml"]
        assert figures, path
        for figure in figures:
            assert re.search(r'<svg [^>]*role="img" aria-label="[^"]{10,}"', figure), (path, figure[:300])
            assert "currentColor" in figure, (path, "the figure's ink does not follow the page's")
            for colour in set(re.findall(r'"(#[0-9a-f]{6})"', figure)):
                assert min(contrast(colour, LIGHT), contrast(colour, DARK)) >= 3, (path, colour)


def test_the_records_show_what_the_roofline_lab_says_of_them() -> None:
    rows = read_record(SNIPPETS / "vectorized-access" / "ceilings.h200.json")["rows"]
    bandwidth, peak = rows["roofs"]["measured_bandwidth_gb_s"], rows["roofs"]["measured_gflop_s"]
    for row in (row for row in rows.values() if "stride" in row):
        by_counted = bandwidth * 8 / (row["counted_read_bytes_a_float"] + 4)
        assert 0.8 < row["measured_useful_gb_s"] / by_counted < 1.1, ("the counted bytes come close", row)
        # By sectors of 32 bytes alone, without the L2's fetch of 64: what the lab's first prediction is.
        share = row["measured_useful_gb_s"] / (bandwidth * 8 / (min(4 * row["stride"], 32) + 4))
        assert 0.8 < share < 1.1 if row["stride"] <= 8 else share < 0.6, ("sectors explain strides up to 8", row)
    for row in (row for row in rows.values() if "fmas" in row):
        intensity = 2 * row["fmas"] / 8
        roof, no_overlap = min(peak, intensity * bandwidth), 1 / (1 / (intensity * bandwidth) + 1 / peak)
        if intensity < peak / bandwidth:
            assert 0.97 < row["measured_gflop_s"] / roof < 1.05, ("it keeps to the memory roof", row)
        if row["fmas"] == 64:
            assert 1.1 * no_overlap < row["measured_gflop_s"] < 0.9 * roof, ("it lies well between", row)


def test_the_record_shows_what_the_slow_to_fast_lab_says_of_it() -> None:
    rows = read_record(SNIPPETS / "slow-to-fast" / "norm.h200.json")["rows"]
    roofs = rows.pop("roofs")
    first, second, tiled, padded, more, batched, wide = rows.values()
    time = {name: row["measured_time_ms"] / roofs["measured_copy_time_ms"] for name, row in rows.items()}  # in copies

    def longest(row: dict[str, Any]) -> str:
        stalls = {key: value for key, value in row.items() if key.startswith("counted_stall_")}
        return max(stalls, key=stalls.__getitem__).removeprefix("counted_stall_")

    for name, row in rows.items():
        least = row["predicted_least_ms"] * (0.9 if name == "padded" else 1)
        assert least < row["measured_time_ms"] < row["predicted_most_ms"], "times lie within the bounds, or less than a tenth below"
    assert 1 < time["batched"] < 1.04, "what remains takes less than 4% longer than a copy"
    assert time["three_passes"] / time["batched"] > 7, "and less than a seventh of the first"
    assert longest(first) == longest(second) == "lg_throttle", "step 1: nearly all waiting is for the queue of memory instructions"
    assert first["counted_dram_percent"] < 25, "DRAM is at less than a quarter of its peak"
    assert first["counted_l2_percent"] > 75, "and L2 the busiest level"
    assert 0.65 < second["counted_dram_read_bytes"] / first["counted_dram_read_bytes"] < 0.75, "DRAM reads 30% less"
    assert 0.98 < time["two_passes"] / time["three_passes"] < 1.1, "but the time is no shorter"
    assert 2.6 < time["two_passes"] / time["tiled"] < 3.1, "step 2: nearly three times as fast"
    assert 2.6 < time["tiled"] < 3.1, "and still nearly three copies"
    assert tiled["counted_l1_percent"] > 2 * max(tiled["counted_l2_percent"], tiled["counted_dram_percent"]), "L1 is the busiest"
    assert 1.7 < time["tiled"] / time["padded"] < 2, "step 3: nearly twice as fast"
    assert max(padded[f"counted_{level}_percent"] for level in ("compute", "dram", "l2", "l1")) < 70, "no level is near its peak"
    assert longest(padded) == "long_scoreboard", "warps wait for loads"
    assert 70 < padded["counted_occupancy_percent"] < 75, "step 4: occupancy is below three quarters"
    assert round(more["counted_occupancy_percent"]) == 97, "and what becomes of it"
    assert 0.96 < time["more_warps"] / time["padded"] < 0.98, "some 3% shorter"
    assert 0.86 < more["predicted_in_flight_ms"] / padded["predicted_in_flight_ms"] < 0.89, "the model promises an eighth"
    assert more["counted_stall_barrier"] > 1.4 * padded["counted_stall_barrier"], "warps wait longer at the barrier"
    assert round(batched["counted_dram_percent"]) == 85, "step 5: DRAM is at 85%"
    assert all(abs(batched[f"counted_{key}_percent"] - roofs[f"counted_copy_{key}_percent"]) < 4 for key in ("dram", "l2")), "about as a copy"
    assert 0.76 < wide["counted_instructions"] / batched["counted_instructions"] < 0.84, "step 6: a fifth fewer instructions"
    assert 0.97 < time["wide"] / time["batched"] < 1.03, "and no difference"


def test_the_calibration_labs_network_is_the_questions() -> None:
    kept = json.loads((SNIPPETS / "calibration" / "digits.json").read_text("utf-8"))
    assert kept["weights"] == {name.replace(".", "_"): lab_digits.encoded(array) for name, array in digits.weights("cnn").items()}
    assert len(kept["calibration"]) == digits.CALIBRATION
    assert len(kept["test"]) == len(kept["labels"]) == 797
    assert {len(image) for image in kept["calibration"] + kept["test"]} == {64}


def test_the_calibration_lab_shows_what_it_says() -> None:
    notebook = json.loads((ROOT / "docs" / "en" / "labs" / "calibration.ipynb").read_text("utf-8"))
    tables = [rows(output) for kind, output in outputs(notebook) if kind == "text/markdown"]
    _, compared, ways, cases, only, without, guilty, weights, cures, beside, _ = tables
    for row in compared:
        said = [[float(side) for side in cell.split(" / ")] for name, cell in row.items() if name != "tensor"]
        assert all(abs(predicted - found) < 0.61 for predicted, found in said), "the prediction is up to 0.6 dB off"
    noise = {row["calibrated by"]: float(row["dB"]) for row in ways}
    assert len({row["accuracy, %"] for row in ways}) == 1, "accuracy shows no difference"
    assert max(noise["99.9 %"], noise["ORT entropy"]) + 5 < min(noise[way] for way in ("max", "TRT entropy", "mean square")), "two clip most"
    case = {row["case"]: row for row in cases}
    raw = case["raw pixels"]
    assert raw["accuracy, %"] == case["right"]["accuracy, %"], "nobody would notice"
    assert 16 <= float(case["right"]["dB"]) - float(raw["dB"]) <= 19
    assert [raw[f"T of `{tensor}`"] for tensor in ("image", "flat")] == ["8.73", "6.58"]
    assert 0.03 < float(case["pixels / 255"]["T of `image`"]) < 0.04
    assert all(20 < float(case["one bad pixel"][f"T of `{tensor}`"]) < 100 for tensor in ("image", "relu1", "flat"))
    data = ("raw pixels", "pixels / 255", "one bad pixel")
    assert all(float(row[name]) <= 34 for row in only for name in data), "each layer alone is bad"
    assert all(float(row[name]) <= 26 for row in without for name in data), "leaving out none helps"
    for name, layer in (("one weight scale", "`conv4`"), ("outlier channel", "`conv2`")):
        alone = {row["only"]: float(row[name]) for row in only if row[name]}
        others = {row["all but"]: float(row[name]) for row in without if row[name]}
        assert alone.pop(layer) == 0
        assert min(alone.values()) >= 45
        assert others.pop(layer) >= 43
        assert max(others.values()) == 0
    assert [row["median channel"] for row in guilty] == ["38", "0", "37", "0"]
    assert guilty[1]["whole tensor"] == "41"
    assert [row["one scale"] == "0" for row in weights] == [False, False, False, True]
    assert all((row["accuracy, %"] == "99") == (row["cure"] != "TRT entropy") for row in cures), "what fits the cause is back"
    assert all(abs(float(row["ONNX Runtime, dB"]) - float(row["TensorRT, dB"])) < 0.2 for row in beside), "signal to noise agrees"


def test_a_lab_with_snippets_of_its_own_is_no_question() -> None:
    own = {name for name in NAMES if (SNIPPETS / name).is_dir()}
    assert own
    for language in LANGUAGES:
        assert not own & {Path(page.path).stem for page in pages.questions(language)}


@pytest.mark.parametrize("folder", ["labs", "en/labs"])
@pytest.mark.parametrize("name", NAMES)
def test_a_lab_is_a_light_page_without_third_parties(site: Path, folder: str, name: str) -> None:
    page = site / folder / name
    assert json.loads((page / f"{name}.ipynb").read_text("utf-8"))["cells"], "the notebook lies beside its page"
    html = (page / "index.html").read_text("utf-8")
    tree = LexborHTMLParser(html)
    assert not tree.css("style, [style], script[src^=http]"), "the policy forbids them"
    for figure in tree.css("article svg"):
        figure.decompose()
    assert len(gzip.compress((tree.html or "").encode(), 9)) < HEAVIEST
    for element in tree.css("*"):
        for attribute, value in element.attributes.items():
            foreign = re.search(r"(?:https?:)?//[\w.-]+\.\w+", value or "")
            link = element.tag == "a" or (element.tag == "link" and element.attributes.get("rel") in {"canonical", "alternate"})
            assert not foreign or (link and attribute == "href") or attribute.startswith("xmlns"), (element.tag, attribute, value)
    assert not any("://" in script.text() for script in tree.css("script"))


@pytest.mark.parametrize("folder", ["labs", "en/labs"])
@pytest.mark.parametrize("name", NAMES)
def test_a_lab_offers_itself_and_its_data(site: Path, folder: str, name: str) -> None:
    page = site / folder / name
    tree = LexborHTMLParser((page / "index.html").read_text("utf-8"))
    offered = [link.attributes["href"] or "" for link in tree.css("a[download]")]
    above = [link.attributes["href"] or "" for link in tree.css(".lab-files a[download]")]  # elsewhere stands a kernel's archive
    notebook = json.loads((page / f"{name}.ipynb").read_text("utf-8"))
    assert [Path(link).name for link in above] == [f"{name}.ipynb", *(Path(data).name for data in notebook["metadata"]["page"]["data"])]
    assert all((page / link).is_file() for link in offered), offered
    [heading], [title], [description] = tree.css("article h1"), tree.css("head title"), tree.css("meta[name=description]")
    assert title.text().startswith(heading.text(deep=False)), "the page's name, in the nav too, is its H1"
    assert description.attributes["content"] == notebook["metadata"]["page"]["description"]
    identifiers = [element.attributes["id"] for element in tree.css("[id]")]
    assert len(identifiers) == len(set(identifiers)), "an id stands twice"


def heading_ids(markdown: str) -> list[tuple[str, str]]:
    """Give each heading's level and id; a heading without one gets its whole text, so that it differs."""
    return [
        (heading.split()[0], (re.search(r"\{ #([a-z0-9-]+) \}$", heading) or re.match(".*", heading) or [""])[0])
        for heading in HEADING.findall(markdown)
    ]


def outputs(notebook: dict[str, Any]) -> list[tuple[str, str]]:
    """Give the kind and text of everything that a notebook's cells left."""
    found = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    streams = [("text/plain", "".join(output["text"])) for output in found if "text" in output]
    return streams + [(kind, "".join(text)) for output in found for kind, text in output.get("data", {}).items()]


def rows(markdown: str) -> list[dict[str, str]]:
    """Give a table's rows by the names of its columns."""
    head, _, *lines = [[cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")] for line in markdown.splitlines()]
    return [dict(zip(head, line, strict=True)) for line in lines]


def contrast(one: str, other: str) -> float:
    """Give the contrast of two colours as WCAG 2 defines it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Give the relative luminance of #rrggbb."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
