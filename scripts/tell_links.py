"""Keep one issue with the links that are dead, by way of GitHub's command line: open it, bring it up to date, close it.

python3 scripts/tell_links.py STATUS REPORT   the exit status of check_links.py and the page that it wrote with --markdown

Where nothing is dead, an open issue is closed.
"""

import json
import subprocess
import sys
from pathlib import Path

TITLE = "Dead links"
LABEL = "dead links"
LONGEST = 60_000  # characters: an issue holds 65,536


def main() -> None:
    """Tell what the weekly run found."""
    if len(sys.argv) != 3 or sys.argv[1] not in {"0", "1"}:  # noqa: PLR2004 - the two words
        sys.exit(f"{__doc__}\nSTATUS is 0 (clean) or 1 (broken links): any other is a fault of the run, of which no issue tells.")
    print(tell(broken=sys.argv[1] == "1", report=Path(sys.argv[2]).read_text("utf-8")))


def tell(*, broken: bool, report: str) -> str:
    """Bring the issue in line with the report, and say what was done.

    Raises SystemExit with GitHub's own words when it refuses.
    """
    listed = _gh("issue", "list", "--state", "open", "--label", LABEL, "--json", "number")
    number = next((str(issue["number"]) for issue in json.loads(listed)), "")
    body = report if len(report) <= LONGEST else report[:LONGEST].rpartition("\n")[0] + "\n\n(cut; the run's summary has all of it)\n"
    if broken and number:
        _gh("issue", "edit", number, "--body-file", "-", given=body)
        return f"issue {number} is up to date"
    if broken:
        _gh("label", "create", LABEL, "--force", "--description", "links to other hosts that the weekly run found dead")
        return "opened " + _gh("issue", "create", "--title", TITLE, "--label", LABEL, "--body-file", "-", given=body).strip()
    if number:
        _gh("issue", "close", number, "--comment", "All links answer again.")
        return f"closed issue {number}"
    return "no link is dead, and no issue says so"


def _gh(*words: str, given: str | None = None) -> str:
    done = subprocess.run(["gh", *words], input=given, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise SystemExit(f"gh {words[0]} {words[1]} failed: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    main()
