"""The rules that CONTRIBUTING.md lists are those that the code knows, each is enforced where the document says, and each has a broken case."""

import re

from broken import HOSTILE, RECORDS, RULES

from project import ROOT
from rules import problem

ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+?) \| `([\w./]+)` \|( fix \| |  \|)?", re.MULTILINE)


def listed() -> dict[str, tuple[str, str]]:
    """Give the document's rules by id: the text, and the file that enforces it."""
    rows = ROW.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert len(rows) == len({row[0] for row in rows}), "an id stands twice"
    return {row[0]: (row[1], row[2]) for row in rows}


def test_the_document_lists_the_rules_that_the_code_knows() -> None:
    assert {name: text for name, (text, _) in listed().items()} == problem.RULES


def test_each_rule_is_enforced_where_the_document_says() -> None:
    for name, (_, file) in listed().items():
        assert f'"{name}"' in (ROOT / "scripts" / file).read_text("utf-8"), f"{name} is not in scripts/{file}: mend the table in CONTRIBUTING.md"


def test_the_code_knows_each_id_that_it_prints() -> None:
    for path in [*(ROOT / "scripts").glob("*.py"), *(ROOT / "scripts" / "rules").glob("*.py")]:
        for name in re.findall(r'"([FPTSCRZEWH]\d{1,2})"', path.read_text("utf-8")):
            assert name in problem.RULES, f"{path.name} prints {name}, which CONTRIBUTING.md does not list"


def test_each_rule_has_a_broken_contribution() -> None:
    # A bench without a record is no breach by mistake: new_question.py makes one, and test_new_question.py looks at it.
    cases = {broken.rule for broken in (RULES | RECORDS | HOSTILE).values()} | {"R11"}
    assert cases == set(problem.RULES)
