"""The index as the build writes it: how text is cut, what a page is taken to be about, and that files are found and stay the same."""

import json
import shutil
import subprocess
import sys
from bisect import bisect_right
from pathlib import Path

import pytest

from pages import terms
from project import ROOT
from search_index.postings import Postings
from search_index.reading import Section, sections
from search_index.terms import terms_of
from search_index.weighing import HEADING, TITLE, Page, Weights, weigh
from search_index.words import normalised, tokens
from search_index.writing import Index

HTML = """<nav class="md-tags">tag</nav><h1 id="question">什么是 bank 冲突<a class="headerlink" href="#question">&para;</a></h1>
<p>共享内存分成 <strong>32</strong> 个 bank<sup id="fnref:a"><a class="footnote-ref" href="#fn:a">1</a></sup>。</p>
<h2 id="fixes">补列 &amp; swizzle</h2><p>读 <code>tile[32][33]</code>，用 cudaMemcpyAsync。</p>
<figure><svg><text>drawn</text></svg><figcaption>图注</figcaption></figure>
<pre><span></span><code><span class="n">LDG</span><span class="o">.</span>E.128 0x00c0</code></pre>
<table class="data"><tr><td>65,504</td></tr></table>
<section data-search-exclude="">licence</section>"""


def page() -> Page:
    return Page("memory/bank-conflicts.md", "memory/bank-conflicts/", sections(HTML), "bank-conflicts")


@pytest.mark.parametrize(
    ("text", "some"),
    [
        ("ＩＮＴ８比FP16慢", ["int8", "fp16", "比", "慢"]),
        ("bank冲突", ["bank", "冲突", "突"]),
        ("cp.async", ["cp", "async", "cpasync"]),
        ("cudaMemcpyAsync", ["cuda", "memcpy", "async", "cudamemcpyasync"]),
        ("tile[32][33]", ["tile", "32", "33", "tile3233"]),
        ("__shfl_sync(0xffffffff)", ["shfl", "sync", "shflsync"]),
        ("65,504", ["65504"]),
        ("Q/DQ", ["dq", "qdq"]),
    ],
)
def test_text_is_cut_into_words_identifiers_and_chinese(text: str, some: list[str]) -> None:
    found = tokens(normalised(text))
    assert [token for token in some if token not in found] == []


def test_the_browser_cuts_text_as_the_build_does(site: Path, tmp_path: Path) -> None:
    pages = sorted(site.rglob("bank-conflicts/index.html"))
    texts = [section.prose + section.listing for path in pages for section in sections(path.read_text("utf-8"))]
    texts += ["ＩＮＴ８比FP16慢", "l1tex__data_bank_conflicts_pipe_lsu.sum", "IInt8EntropyCalibrator2 H2D E4M3"]
    texts += ["65,504 1,024,000", "nvcuda::wmma", "A100/H100"]
    (tmp_path / "texts.json").write_text(json.dumps(texts), "utf-8")
    script = f"""import {{ readFileSync }} from "node:fs"; import {{ tokens }} from "{(ROOT / "web/src/search/words.js").as_uri()}";
        console.log(JSON.stringify(JSON.parse(readFileSync(process.argv[1], "utf8")).map((text) => tokens(text).sort())));"""
    node = shutil.which("node", path=str(Path(sys.executable).parent)) or "node"
    command = [node, "--no-warnings", "--input-type=module", "-e", script, str(tmp_path / "texts.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    for text, theirs in zip(texts, json.loads(done.stdout), strict=True):
        assert sorted(tokens(normalised(text)), key=lambda token: token.encode("utf-16-be")) == theirs, text[:80]


def test_a_page_is_taken_apart_without_drawings_and_signs() -> None:
    found = sections(HTML)
    assert [(section.anchor, section.heading) for section in found] == [("", "什么是 bank 冲突"), ("fixes", "补列 & swizzle")]
    assert found[0].prose == "共享内存分成 32 个 bank。"
    assert found[1].prose == "读 tile[32][33]，用 cudaMemcpyAsync。 图注"
    assert found[1].listing == "LDG.E.128 0x00c0 65,504"


def test_a_page_is_about_its_title_before_its_headings_before_its_text() -> None:
    weights = weigh(page(), terms_of(terms(), "zh"))
    levels, places = weights.levels, weights.sections
    assert levels["冲突"] >= TITLE
    assert HEADING <= levels["swizzle"] < levels["冲突"]
    assert places["swizzle"] == 1
    assert (levels["ldge128"], places["ldge128"]) == (1, 1)
    assert "0x00c0" not in levels
    assert "drawn" not in levels
    assert levels["#bank-conflict"] > levels["#swizzle"]
    assert places["#bank-conflict"] == 0


def test_every_token_is_in_the_shard_that_its_beginning_names(tmp_path: Path) -> None:
    words = [f"{first}{second}{number}" for first in "abz轨" for second in "mn冲" for number in range(300)]
    index = Index(terms_of(terms(), "zh"))
    index.add("question", Page("x.md", "x/", [Section("", "x", " ".join(words), "")]))
    index.write(tmp_path / "search")
    core = json.loads((tmp_path / "search" / "index.json").read_text("utf-8"))
    assert len(core["shards"]) > 3
    for word in {token for text in words for token in tokens(text)}:
        number = bisect_right(core["shards"], word) - 1
        assert word in json.loads((tmp_path / "search" / f"w{number}.{core['digest']}.json").read_text("utf-8")), word


def test_pages_are_numbered_by_kind() -> None:
    one, two = Postings(), Postings()
    for token in ("both", "first", "both"):
        one.add(Weights({token: 1}, {token: 0}))
    for token in ("second", "both", "both"):
        two.add(Weights({token: 2}, {token: 61}))
    strings: dict[str, str] = {}
    last: dict[str, int] = {}
    one.joined(0, strings, last)
    two.joined(3, strings, last)
    assert strings == {"both": "AA2AA2B9B9", "first": "2AA", "second": "4B9"}


def test_the_same_pages_give_the_same_files(tmp_path: Path) -> None:
    found: list[dict[str, bytes]] = []
    for name in ("one", "two"):
        index = Index(terms_of(terms(), "zh"))
        index.add("question", page())
        index.write(tmp_path / name)
        found.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert found[0] == found[1]


def test_no_text_of_a_drawing_is_in_the_index(site: Path) -> None:
    for folder in (site / "search", site / "en" / "search"):
        texts = "".join(path.read_text("utf-8") for path in folder.glob("t*.json"))
        assert "<svg" not in texts
