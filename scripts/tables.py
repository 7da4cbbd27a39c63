"""Turn the records of a bench into the Markdown tables that the pages include, one file a language.

A bench names its tables: TABLES = {"counts": {"stride": ("步长（字）", "Stride (words)"), ...}}. A table shows the rows
that hold all its keys. Keys that begin with counted_ or measured_ came from a device: they get a column a record.
"""

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from project import LANGUAGES, MEASURED, record_files

TINY = 1e-4  # a fraction below it is written with a power of ten
Layout = dict[str, dict[str, Sequence[str]]]  # a bench's TABLES: for each table its columns, each with its name in both languages
WORDS = {
    "zh": {
        "where": "{gpu}（计算能力 {cc}），驱动 {driver}，NVRTC {nvrtc}，CuPy {cupy}，Nsight Compute {ncu}；时钟未锁定；测于 {recorded}。",
        "where_cpu": "CPU（{cpu}），{versions}；测于 {recorded}。",
        "raw": "原始记录",
        "command": "复现命令",
        "earlier": "用较早的源码测得",
        "outdated": "记录已过时：",
        "differs": "在这张卡上，bench 的断言不全成立，见原始记录的 differs",
        "none": "还没有测量：`{}`",
        "planned": "还没有测量",
        "comma": "，",
        "joint": "；",
        "stop": "。",
    },
    "en": {
        "where": "{gpu} (compute capability {cc}), driver {driver}, NVRTC {nvrtc}, CuPy {cupy}, Nsight Compute {ncu}; "
        "clocks not locked; measured on {recorded}.",
        "where_cpu": "CPU ({cpu}), {versions}; measured on {recorded}.",
        "raw": "Raw record",
        "command": "command",
        "earlier": "measured with an earlier version of the sources",
        "outdated": "Outdated: ",
        "differs": "on this card not all of the bench's claims hold, see differs in the raw record",
        "none": "Not measured yet: `{}`",
        "planned": "not measured yet",
        "comma": ", ",
        "joint": "; ",
        "stop": ".",
    },
}


def files(bench: Path, said: dict[str, Any], records: list[dict[str, Any]], outdated: list[bool]) -> Iterator[tuple[Path, str]]:
    """Give each language's file of tables with its text: a section a table, then the section "source".

    said is what the bench says: its tables, its device, and without a record the rows that it predicts.
    """
    stem, layout, kind = bench.stem.removeprefix("bench_"), cast("Layout", said["tables"]), said["device"]
    for number, language in enumerate(LANGUAGES):
        shown = records or ([{"gpu": WORDS[language]["planned"], "rows": said["trial"]["rows"]}] if said["trial"] else [])
        parts = [section(name, table({key: labels[number] for key, labels in columns.items()}, shown)) for name, columns in layout.items()]
        lines = [source(path, record, old, language) for path, record, old in zip(record_files(bench), records, outdated, strict=True)]
        none = WORDS[language]["none"].format(f"python3 scripts/record.py {bench.parent.name} --{kind}")
        parts.append(section("source", "\n\n".join(lines) or none))
        yield bench.with_name(f"{stem}.{language}.md"), "\n".join(parts)


def table(columns: dict[str, str], records: list[dict[str, Any]]) -> str:
    """Lay out one table, columns by key, from rows of all records; a measured column stands once a record, under its GPU's name.

    A row that nobody measured yet has no measured keys at all, and stands where it holds the others.
    """
    heads: list[tuple[str, str, int]] = []
    for key, label in columns.items():
        if key.startswith(MEASURED):
            heads += [(key, f"{label}<br>{short_name(record)}", index) for index, record in enumerate(records)]
        else:
            heads.append((key, label, -1))
    shared = {key for key in columns if not key.startswith(MEASURED)}
    names = dict.fromkeys(
        name
        for record in records
        for name, row in record["rows"].items()
        if (columns.keys() if any(key.startswith(MEASURED) for key in row) else shared) <= row.keys()
    )
    lines = [[label for _, label, _ in heads], ["---:" if _numeric(records, names, key) else "---" for key, _, _ in heads]]
    decimals = {key: decimals_of([record["rows"].get(name, {}).get(key) for record in records for name in names]) for key in columns}
    for name in names:
        rows = [record["rows"].get(name, {}) for record in records]
        given = next(row for row in rows if shared <= row.keys())
        lines.append([cell(given.get(key) if index < 0 else rows[index].get(key), decimals[key]) for key, _, index in heads])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell(value: object, decimals: int) -> str:
    """Print one value: numbers with thousands separators, fractions with the column's decimals, nothing as a dash.

    Raises TypeError for a list or an object, which may hold signs that would end the cell.
    """
    if isinstance(value, list | dict):
        raise TypeError(f"a table shows single values, and this is one of several: {value}")
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "✓" if value else "✗"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3g}".replace("e-0", "e-") if 0 < abs(value) < TINY else f"{value:,.{decimals}f}"
    return f"`{value}`"


def decimals_of(values: list[object]) -> int:
    """Give the decimals of a column: three significant digits of its smallest fraction, at most six of its largest, none that no value has."""
    fractions = [value for value in values if isinstance(value, float) and (not value or abs(value) >= TINY)]
    sizes = [abs(value) for value in fractions if value]
    if not sizes:
        return 1
    wanted = 2 - math.floor(math.log10(min(sizes)))
    kept = max(-int(Decimal(repr(value)).as_tuple().exponent) for value in fractions)
    return max(0, min(wanted, 5 - math.floor(math.log10(max(sizes))), kept))


def short_name(record: dict[str, Any]) -> str:
    """Give a card's name as a column has room for it."""
    return str(record.get("gpu", "CPU")).removeprefix("NVIDIA ").removeprefix("GeForce ")


def section(name: str, text: str) -> str:
    """Wrap a part so that a page can include it by name."""
    return f"<!-- --8<-- [start:{name}] -->\n{text}\n<!-- --8<-- [end:{name}] -->\n"


def source(path: Path, record: dict[str, Any], old: bool, language: str) -> str:  # noqa: FBT001 - the table's own flag
    """Say where a record's numbers come from, with links to the raw file and the command that made it."""
    words = WORDS[language]
    if "cpu" in record:
        versions = words["comma"].join(f"{name} {version}" for name, version in record["versions"].items())
        where = words["where_cpu"].format(cpu=record["cpu"], versions=versions, recorded=record["recorded"])
    else:
        where = words["where"].format(
            gpu=record["gpu"], cc=record.get("compute_capability", "?"), recorded=record["recorded"], **{"nvrtc": "?"} | record["versions"]
        )
    limits = [_in(language, value) for key, value in record.get("conditions", {}).items() if key != "clocks"]
    if "outdated" in record:
        limits.append(words["outdated"] + _in(language, record["outdated"]))
    elif old:
        limits.append(words["earlier"])
    if "differs" in record:
        limits.append(words["differs"])
    more = words["joint"].join(limits) + words["stop"] if limits else ""
    link = f"[{words['raw']}](../snippets/{path.parent.name}/{path.name}){words['joint']}{words['command']} `{record['command']}`{words['stop']}"
    return " ".join(filter(None, [where, more, link]))


def _in(language: str, value: str | dict[str, str]) -> str:
    """Give a sentence of a record in a language: as it stands, or the one of several."""
    return value if isinstance(value, str) else value[language]


def _numeric(records: list[dict[str, Any]], names: dict[str, None], key: str) -> bool:
    values = [record["rows"].get(name, {}).get(key) for record in records for name in names]
    return bool(values) and all(isinstance(value, int | float | None) for value in values)
