"""Write the parts of pages that gather from others: the table of questions, the topics, the review, the glossary, the notices.

They are kept in snippets/pages, a file a language, and included like a snippet's output.
"""

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

import configuration
import notices
from project import LANGUAGES, ROOT, SNIPPETS, TWIN, is_question, shown

CONFIG = ROOT / "mkdocs.yml"
FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
TITLE = re.compile(r"^# (.+?)(?: \{[^}]*\})?$", re.MULTILINE)
CHINESE = re.compile(r"[\u4e00-\u9fff]")
LEVELS = {
    "zh": {"basic": "基础", "intermediate": "中级", "advanced": "高级"},
    "en": {"basic": "basic", "intermediate": "intermediate", "advanced": "advanced"},
}
HEADS = {"zh": ("问题", "主题", "难度", "实测了什么"), "en": ("Question", "Topic", "Level", "What is measured")}
GROUPS = {
    "zh": {"execution": "执行", "memory": "内存", "matrix": "矩阵与数值格式", "tools": "工具", "inference": "推理"},
    "en": {"execution": "Execution", "memory": "Memory", "matrix": "Matrices and number formats", "tools": "Tools", "inference": "Inference"},
}
ALSO = {"zh": "也叫 ", "en": "also "}
JOINT = {"zh": "、", "en": ", "}
ERRATA = {"zh": ("页面", "错在哪里", "从何时到何时", "谁发现，哪次提交改正"), "en": ("Page", "What was wrong", "From and to", "Found by, mended in")}
NO_ERRATA = {"zh": "还没有报告过的错误。", "en": "No error has been reported yet."}
MORE = {"zh": "详见[{}]({})", "en": " See [{}]({})"}


@dataclass(frozen=True)
class Page:
    """One Markdown page: its path below docs/<language>, its front matter, its title, and the text after the front matter."""

    path: str
    meta: dict[str, Any]
    title: str
    text: str

    @property
    def topic(self) -> str:
        """The folder that the page lies in."""
        return self.path.partition("/")[0]


def read_page(path: Path) -> Page:
    """Read a page.

    Raises ValueError, with the file's name and the way out, when it has no front matter or no title.
    """
    text = path.read_text("utf-8")
    head = FRONT_MATTER.match(text)
    if not head:
        raise ValueError(f"{shown(path)} does not begin with front matter: copy it from docs/zh/templates/question.md")
    body = text[head.end() :]
    title = TITLE.search(body)
    if not title:
        raise ValueError(f"{shown(path)} has no title: its first heading is # and the question")
    try:
        meta = copy.copy(_front_matter(head[1]))
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 2
        raise ValueError(f"{shown(path)} has front matter that is no YAML, line {line}: quote the text in it") from error
    if not isinstance(meta, dict):
        raise ValueError(f"{shown(path)} has front matter that is no list of keys: copy it from docs/zh/templates/question.md")  # noqa: TRY004 - as above
    language_folder = next(parent for parent in path.parents if parent.parent.name == "docs")
    return Page(path.relative_to(language_folder).as_posix(), meta, title[1], body)


@lru_cache(maxsize=512)
def _front_matter(text: str) -> Any:
    """Parse front matter, which a build and a check read many times."""
    return yaml.safe_load(text) or {}


def questions(language: str) -> list[Page]:
    """Give a language's question pages, in the nav's order."""
    found = [ROOT / "docs" / language / path for path in nav_paths() if is_question(path)]
    return [read_page(path) for path in found if path.is_file()]


def nav_paths() -> list[str]:
    """Give the paths of mkdocs.yml's nav, flat and in order."""
    return list(_flat_nav(CONFIG.read_text("utf-8")))


@lru_cache(maxsize=2)
def _flat_nav(text: str) -> tuple[str, ...]:
    def flat(items: list[Any]) -> Iterator[str]:
        for item in items:
            if isinstance(item, str):
                yield item
            else:
                for value in item.values():
                    yield from [value] if isinstance(value, str) else flat(value)

    return tuple(flat(configuration.parsed(text)["nav"]))


def terms() -> list[dict[str, Any]]:
    """Give the glossary's entries, as docs/terms.yml holds them."""
    return _entries((ROOT / "docs" / "terms.yml").read_text("utf-8"))


@lru_cache(maxsize=2)
def _entries(text: str) -> list[dict[str, Any]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster, where it is there
    entries: list[dict[str, Any]] = yaml.load(text, loader)  # noqa: S506 - both are safe ones
    return entries


def gathered() -> Iterator[tuple[Path, str]]:
    """Give each gathered file with its text; the notices where the browser's packages are, which they are read from."""
    for language in LANGUAGES:
        pages = questions(language)
        topics = {page.topic: read_page(ROOT / "docs" / language / page.topic / "index.md").title for page in pages}
        parts = {"questions": _table(pages, topics, language), "review": _review(pages, topics, language), "glossary": _glossary(language)}
        parts["errata"] = _errata(language)
        parts |= {f"topic-{topic}": _topic([page for page in pages if page.topic == topic], language) for topic in topics}
        for name, text in parts.items():
            yield SNIPPETS / "pages" / f"{name}.{language}.md", text.rstrip("\n") + "\n"
    if (notices.WEB / "node_modules").is_dir():
        yield from notices.notices()


def _table(pages: list[Page], topics: dict[str, str], language: str) -> str:
    levels = LEVELS[language]
    lines = [HEADS[language], ("---",) * 4]
    lines += [(f"[{page.title}]({page.path})", topics[page.topic], levels[page.meta["tags"][0]], page.meta.get("measured", "")) for page in pages]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _review(pages: list[Page], topics: dict[str, str], language: str) -> str:
    parts: list[str] = []
    for topic, name in topics.items():
        parts.append(f"## {name} {{ #{topic} }}")
        for page in pages:
            if page.topic == topic:
                source = f"{language}/{page.path}"
                parts += [f"### [{page.title}]({page.path}) {{ #{Path(page.path).stem} }}", f'--8<-- "{source}:lead"', f'--8<-- "{source}:pitfall"']
    return "\n\n".join(parts)


def _topic(pages: list[Page], language: str) -> str:
    parts: list[str] = []
    for page in pages:
        name = Path(page.path).name
        parts += [f"## [{page.title}]({name}) {{ #{Path(name).stem} }}", f'--8<-- "{language}/{page.path}:lead"']
    return "\n\n".join(parts)


def _glossary(language: str) -> str:
    parts = [" · ".join(f"[{name}](#{topic})" for topic, name in GROUPS[language].items())]
    for topic, name in GROUPS[language].items():
        parts.append(f"## {name} {{ #{topic} }}")
        for entry in terms():
            if entry["topic"] == topic:
                parts += [f"### {entry[language]} {{ #{entry['id']} }}", _names(entry, language), entry[f"{language}_text"] + _more(entry, language)]
    return "\n\n".join(part for part in parts if part)


def _errata(language: str) -> str:
    """List what was wrong, newest first; while there is nothing, say so."""
    entries: list[dict[str, Any]] = yaml.safe_load((ROOT / "docs" / "errata.yml").read_text("utf-8"))
    if not entries:
        return NO_ERRATA[language]
    lines = [ERRATA[language], ("---",) * 4]
    for entry in sorted(entries, key=lambda entry: entry["mended"], reverse=True):
        place = f"[{_short_title(entry['page'], language)}](../{entry['page']})"
        lines.append((place, entry[language], f"{entry['since']} – {entry['mended']}", f"{entry['finder']}, `{entry['commit']}`"))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _names(entry: dict[str, Any], language: str) -> str:
    """Give the line below a term: its name in the other language where it has one of its own, then its other names."""
    other = TWIN[language]
    theirs = [name for name in (entry[other], *entry.get(f"{other}_also", [])) if other == "en" or CHINESE.search(name)]
    name = next(iter(theirs), entry[other])
    names = [] if name == entry[language] else [f"*{name}*{{ lang={other} }}"]
    also = [each for each in entry.get(f"{language}_also", []) if each != name]
    if also:
        names.append(ALSO[language] + JOINT[language].join(also))
    return f"{' · '.join(names)}\n{{ .names }}" if names else ""


def _more(entry: dict[str, Any], language: str) -> str:
    return MORE[language].format(_short_title(entry["page"], language), f"../{entry['page']}") if "page" in entry else ""


def _short_title(path: str, language: str) -> str:
    """Give a page's title, of several questions the first."""
    title = read_page(ROOT / "docs" / language / path.partition("#")[0]).title
    return re.split(r"(?<=[?？])", title)[0]
