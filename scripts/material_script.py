"""Material's script without the parts that this site never starts: a sixth of it.

The script's shape is checked, not guessed: after an upgrade that changes it, the build fails here and says what it looked for.
"""

import re
from pathlib import Path

import configuration
from project import ROOT

# Parts that a page would start by an element which no page has, or which is the site's own: its search, its colours, a repository's stars.
UNUSED = ("announce", "consent", "palette", "progress", "search", "source")
BEGINNING, END = '"use strict";(()=>{', "})();"
ASKED = re.compile(r"function (\w+)\(e\)\{return \w+\.features\.includes\(e\)\}")


def trimmed(bundle: Path) -> str:
    """Give the script as a module, in which a bundler sees what is not used.

    Raises SystemExit when the script is not made as expected.
    """
    text = re.sub(r"\n//# sourceMappingURL=.*\n?$", "", bundle.read_text("utf-8")).strip()
    asked = ASKED.search(text)
    if not (text.startswith(BEGINNING) and text.endswith(END) and asked):
        raise SystemExit(f"{bundle.name} is not made as scripts/material_script.py expects: read what changed in Material")
    features = configuration.parsed((ROOT / "mkdocs.yml").read_text("utf-8"))["theme"]["features"]
    text = text.removeprefix(BEGINNING).removesuffix(END)
    text = re.sub(rf'\b{asked[1]}\("([\w.]+)"\)', lambda match: "true" if match[1] in features else "false", text)
    for part in UNUSED:
        text = _without(text, part)
    return f'"use strict";{text}'


def _without(text: str, part: str) -> str:
    """Take out `...me("part").map(…),`, which starts a part for each of its elements."""
    begins = re.search(rf'\.\.\.\w+\("{part}"\)\.map(?=\()', text)
    if not begins:
        raise SystemExit(f"Material's script starts no part {part}: read what changed in it, and mend scripts/material_script.py")
    depth = 0
    for place in range(begins.end(), len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return text[: begins.start()] + text[place + 1 :].removeprefix(",")
    raise SystemExit(f"Material's script does not end its part {part}")
