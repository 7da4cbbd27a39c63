"""Begin a new question: two pages, a folder of snippets that runs as it is, the nav line and the first search queries.

    python3 scripts/new_question.py                                asks for all that it needs
    python3 scripts/new_question.py coalescing --topic memory --level basic --subject global-memory --zh "…？" --en "…?"

Nothing is overwritten. What the new files still need is then named by python3 scripts/dev.py check.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import dev
from project import LANGUAGES, NOT_QUESTIONS, ROOT, SNIPPETS, shown

LEVELS = ("basic", "intermediate", "advanced")
NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
LONGEST = 40
SHORTEST, STEM, MOST = 3, 5, 20  # letters of a word that is looked for, those by which it is, and the lines that are shown
TEMPLATES = ROOT / "scripts" / "templates"
NOT_TOPICS = {"contribute", "labs", "reference", "templates"}
HAN = re.compile(r"[\u3400-\u9fff]")


class RefusedError(Exception):
    """Something is in the way; the message is a sentence that says what to do."""


def main() -> None:
    """Ask for what is missing, write the files, run the snippets, and say what comes next."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("id", nargs="?", help="the question's name in kebab-case, such as bank-conflicts")
    parser.add_argument("--topic", help=f"one of {', '.join(topics())}")
    parser.add_argument("--level", help=f"one of {', '.join(LEVELS)}")
    parser.add_argument("--subject", help=f"one or more of {', '.join(subjects())}")
    parser.add_argument("--zh", help="the question in Chinese, as an interviewer asks it")
    parser.add_argument("--en", help="the question in English")
    options = parser.parse_args()
    try:
        name = _answer(options.id, "id, such as bank-conflicts", check_id)
        topic = _answer(options.topic, f"topic ({', '.join(topics())})", check_topic)
        level = _answer(options.level, f"level ({', '.join(LEVELS)})", check_level)
        subject = _answer(options.subject, f"subject, one or more ({', '.join(subjects())})", check_subject)
        titles = {
            "zh": _answer(options.zh, "the question in Chinese", check_chinese),
            "en": _answer(options.en, "the question in English", check_english),
        }
        texts = new_files(name, topic, f"{level}, {', '.join(_words(subject))}", titles)
        refuse_dirty(texts)
        _packages()
    except (RefusedError, dev.SetupError) as error:
        sys.exit(f"new_question.py: {error}")
    except (KeyboardInterrupt, EOFError):
        sys.exit("\nnew_question.py: nothing was written")
    known = already(name)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
        print(f"wrote {shown(path)}")
    status = subprocess.run([dev.PYTHON, "scripts/record.py", name, "pages"], cwd=ROOT, check=False).returncode
    print(f"\nrecord.py ended with {status}: read its last lines\n" if status else what_is_next(name, topic, known))
    sys.exit(status)


def what_is_next(name: str, topic: str, known: list[str]) -> str:
    """Say what the author does next, in steps, and which lines of the project name the question's words already."""
    steps = [[part.format(id=name, stem=stem(name), topic=topic) for part in step] for step in NEXT]
    width = max(len(where) for where, _ in steps)
    lines = [f"{number}. {where:{width}}  {what}" for number, (where, what) in enumerate(steps, 1)]
    if known:
        lines += ["", "These name its words already. What this question answers better is led to it: first in a query, page in a term.", "", *known]
    return "\n".join(["", "The question runs as it is. What comes next:", "", *lines])


def already(name: str) -> list[str]:
    """Give the lines of the search queries and of the glossary that name the words of an id, in their other forms and languages too."""
    words = [word[:STEM] for word in name.split("-") if len(word) >= SHORTEST]
    found, glossary = [], (ROOT / "docs" / "terms.yml").read_text("utf-8")
    for entry in re.finditer(r"^- id: (.+)\n((?:  .*\n)*)", glossary, re.MULTILINE) if words else ():
        names = re.findall(r"[^,\[\]]+", ",".join(re.findall(r"^  (?:zh|en)(?:_also)?: (.+)$", entry[2], re.MULTILINE)))
        if any(word in each.lower() for each in names for word in words):
            words += [each.strip() for each in names if HAN.search(each)]
            page = re.search(r"^  page: .+$", entry[2], re.MULTILINE)
            found.append(f"docs/terms.yml:{glossary.count(chr(10), 0, entry.start()) + 1}: {entry[1]}, {page[0].strip() if page else 'no page'}")
    for path in sorted((ROOT / "tests" / "search").glob("*.yml")):
        for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
            query = re.search(r"query: (.+?), (?:language|kind):", line)
            if query and any(word in query[1].lower() for word in words):
                found.append(f"{shown(path)}:{number}: {line}")
    return [*found[:MOST], *([f"... and {len(found) - MOST} lines more"] if len(found) > MOST else [])]


def topics() -> list[str]:
    """Give the topics that the site has."""
    return sorted(path.parent.name for path in (ROOT / "docs" / "zh").glob("*/index.md") if "pages/topic-" in path.read_text("utf-8"))


def check_id(name: str) -> None:
    """Refuse an id that is badly formed or taken."""
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST].strip("-")
        raise RefusedError(f"{name!r} is no id: small ASCII letters, digits and hyphens, at most {LONGEST}, such as {plain or 'bank-conflicts'}")
    taken = [SNIPPETS / name, *(path for language in LANGUAGES for path in (ROOT / "docs" / language).glob(f"*/{name}.*"))]
    if name in NOT_QUESTIONS | NOT_TOPICS | set(topics()) or any(path.exists() for path in taken):
        place = next((shown(path) for path in taken if path.exists()), "a name of the project's own")
        raise RefusedError(f"the id {name} is taken ({place}): choose another, or edit that question")


def check_topic(topic: str) -> None:
    """Refuse a topic that the site does not have."""
    if topic not in topics():
        raise RefusedError(f"there is no topic {topic}: choose one of {', '.join(topics())}; for a new one, open an issue first")


def subjects() -> list[str]:
    """Give the tags that a page may have beside its level."""
    allowed = re.search(r"tags_allowed: \[([^\]]*)\]", (ROOT / "mkdocs.yml").read_text("utf-8"))
    return [tag for tag in re.findall(r"[\w-]+", allowed[1] if allowed else "") if tag not in LEVELS]


def check_subject(subject: str) -> None:
    """Refuse a subject that mkdocs.yml does not list."""
    if not _words(subject) or set(_words(subject)) - set(subjects()):
        raise RefusedError(f"{subject!r} is no subject: choose one or more of {', '.join(subjects())}")


def check_level(level: str) -> None:
    """Refuse a level that does not exist."""
    if level not in LEVELS:
        raise RefusedError(f"there is no level {level}: choose one of {', '.join(LEVELS)}")


def check_chinese(title: str) -> None:
    """Refuse what is no Chinese question."""
    _check_title(title)
    if not HAN.search(title) or not title.endswith("？"):
        raise RefusedError(f"{title!r} is no question in Chinese: write it with Chinese characters, and ？ at its end")


def check_english(title: str) -> None:
    """Refuse what is no English question."""
    _check_title(title)
    if HAN.search(title) or not title.endswith("?"):
        raise RefusedError(f"{title!r} is no question in English: write it in English, and ? at its end")


def new_files(name: str, topic: str, tags: str, titles: dict[str, str]) -> dict[Path, str]:
    """Give each file that a new question needs, with its text."""
    made = dict(_pages(name, topic, tags, titles)) | dict(_snippets(name))
    made[ROOT / "mkdocs.yml"] = with_nav_line((ROOT / "mkdocs.yml").read_text("utf-8"), topic, name)
    queries = "".join(f"- {{query: {_quoted(titles[language])}, language: {language}, kind: question, first: [{name}]}}\n" for language in LANGUAGES)
    made[ROOT / "tests" / "search" / f"{name}.yml"] = f"# What people type who look for this question; add the words that they would use.\n{queries}"
    return made


def refuse_dirty(texts: dict[Path, str]) -> None:
    """Refuse to write over a file that exists, or that has changes which git does not know."""
    for path in texts:
        if path.exists() and path.name != "mkdocs.yml":
            raise RefusedError(f"{shown(path)} exists and would be written over: move it away, or choose another id")
    command = ["git", "status", "--porcelain", "--", "mkdocs.yml", "snippets/pages"]
    try:
        changed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    except FileNotFoundError:
        return
    if changed:
        raise RefusedError(f"{changed[0][3:]} has changes that are not committed, and this would write to it: commit them, or git stash, then again")


def with_nav_line(config: str, topic: str, name: str) -> str:
    """Give mkdocs.yml with the question as the last of its topic."""
    lines = config.split("\n")
    places = [number for number, line in enumerate(lines) if re.match(rf"\s+- {re.escape(topic)}/", line)]
    if not places:
        raise RefusedError(f"mkdocs.yml has no pages of {topic} in its nav: add them there first")
    indent = lines[places[-1]].partition("-")[0]
    lines.insert(places[-1] + 1, f"{indent}- {topic}/{name}.md")
    return "\n".join(lines)


def stem(name: str) -> str:
    """Give the name of the question's scripts; a module of the standard library's name would hide it."""
    word = name.replace("-", "_")
    return f"{word}_model" if word in sys.stdlib_module_names or word in {"gpu", "nvrtc", "project"} else word


def _pages(name: str, topic: str, tags: str, titles: dict[str, str]) -> Iterator[tuple[Path, str]]:
    word = stem(name)
    for language in LANGUAGES:
        text = (ROOT / "docs" / language / "templates" / "question.md").read_text("utf-8")
        text = re.sub(r"^# .+? \{", f"# {titles[language]} {{".replace("\\", r"\\"), text, count=1, flags=re.MULTILINE)
        text = re.sub(r"^tags:.*$", f"tags: [{tags}]", text, count=1, flags=re.MULTILINE)
        text = re.sub(r"^checked:.*$", f"checked: {datetime.now(UTC).date()}", text, count=1, flags=re.MULTILINE)
        for old, new in (
            ("bank-conflicts/padding.svg", f"{name}/{word}.svg"), ("padding-caption", f"{word}-caption"), ("draw_banks.py", f"draw_{word}.py"),
            (f"bank-conflicts/stride.{language}.md:strides", f"{name}/{word}.{language}.md:counts"), ("bank-conflicts/stride", f"{name}/{word}"),
            ("stride.", f"{word}."), ("`STRIDE`", "`ELEMENTS`"),
        ):  # fmt: skip
            text = text.replace(old, new)
        yield ROOT / "docs" / language / topic / f"{name}.md", text


def _snippets(name: str) -> Iterator[tuple[Path, str]]:
    word = stem(name)
    for path in sorted(TEMPLATES.iterdir()):
        if path.suffix in {".py", ".cu"}:
            yield SNIPPETS / name / path.name.replace("example", word), re.sub(r"\bexample\b", word, path.read_text("utf-8"))


def _answer(given: str | None, what: str, check: Callable[[str], None]) -> str:
    """Take an argument, or ask until an answer is right."""
    if given is not None:
        check(given.strip())
        return given.strip()
    if not sys.stdin.isatty():
        name = re.split(r"[,(]", what.removeprefix("the "))[0].strip()
        raise RefusedError(f"the {name} is missing: give id, --topic, --level, --subject, --zh and --en, or run this in a terminal")
    while True:
        answer = input(f"{what}: ").strip()
        try:
            check(answer)
        except RefusedError as error:
            print(error)
        else:
            return answer


def _check_title(title: str) -> None:
    if re.search(r"[<>{}\[\]\n]", title) or len(title) > 2 * LONGEST:
        raise RefusedError(f"{title!r} is no title: one line of at most {2 * LONGEST} characters, without < > {{ }} [ ]")


def _words(subject: str) -> list[str]:
    return re.findall(r"[^\s,]+", subject)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _packages() -> None:
    if not dev.PYTHON.exists():
        dev.python_packages("requirements.txt")


NEXT = (
    ("python3 scripts/dev.py serve", "look at it: http://127.0.0.1:8000/{topic}/{id}/"),
    ("snippets/{id}/{stem}.py", "write the model, then its drawing, kernel and bench beside it"),
    ("python3 scripts/record.py {id}", "keep what they print"),
    ("docs/zh/{topic}/{id}.md", "write the answer, and docs/en/{topic}/{id}.md; one language is enough for a pull request"),
    ("python3 scripts/dev.py check", "names each line that still waits for content"),
    ("python3 scripts/record.py {id} --gpu", "on a GPU: measure; until then the page says that nothing is measured"),
    ("tests/search/{id}.yml", "add what people would type to find it"),
)


if __name__ == "__main__":
    main()
