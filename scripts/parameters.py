"""The parameters of a snippet that a page may offer as controls: plain literals at the top of the file, each with its bounds behind it.

STRIDE = 8  # 1..33: elements from one lane to the next
SCALE = 0.5  # 0..2 by 0.25: a range of other steps
ACCESS_BYTES = 4  # 2 | 4 | 8 | 16: a choice
SWIZZLE = False  # True and False need no bounds
"""

import ast
import io
import re
import tokenize
from dataclasses import dataclass

NUMBER = r"-?\d+(?:\.\d+)?"
RANGE = re.compile(rf"#\s*({NUMBER})\.\.({NUMBER})(?:\s+by\s+({NUMBER}))?(?=\s*(?::|$))")
CHOICES = re.compile(r"#\s*([^:|]+(?:\|[^:|]+)+)(?=\s*(?::|$))")


@dataclass(frozen=True)
class Parameter:
    """A name, its value as Python writes it, and what else it may be: choices, or a range with a step; neither for a bool."""

    name: str
    value: bool | float | str
    written: str
    choices: list[str] | None = None
    range: tuple[float, float, float] | None = None

    def described(self) -> dict[str, object]:
        """Give what the page's controls need."""
        bounds: dict[str, object] = {"choices": self.choices} if self.choices else {}
        if self.range:
            bounds = dict(zip(("min", "max", "step"), self.range, strict=True))
        return {"name": self.name, "value": self.value if isinstance(self.value, bool) else self.written} | bounds


def parameters(source: str) -> dict[str, Parameter]:
    """Give the parameters that a snippet declares, by name.

    Raises ValueError, with the line, when a declaration's value lies outside its own bounds.
    """
    comments = {token.start[0]: token.string for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type == tokenize.COMMENT}
    found: dict[str, Parameter] = {}
    for node in ast.parse(source).body:
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper()):
            continue
        name, written = node.targets[0].id, ast.get_source_segment(source, node.value) or ""
        try:
            value = ast.literal_eval(node.value)
        except ValueError:
            continue
        parameter = _declared(name, value, written, comments.get(node.lineno, "")) if isinstance(value, bool | int | float | str) else None
        if parameter:
            found[name] = parameter
    return found


def _declared(name: str, value: bool | float | str, written: str, comment: str) -> Parameter | None:  # noqa: FBT001 - a value, no switch
    if isinstance(value, bool):
        return Parameter(name, value, written)
    if bounds := RANGE.match(comment):
        low, high, step = (ast.literal_eval(number) for number in (bounds[1], bounds[2], bounds[3] or "1"))
        if isinstance(value, str) or not low <= value <= high:
            raise ValueError(f"{name} = {written} lies outside its own range {low}..{high}")
        return Parameter(name, value, written, range=(low, high, step))
    if listed := CHOICES.match(comment):
        choices = [choice.strip() for choice in listed[1].split("|")]
        if written not in choices:
            raise ValueError(f"{name} = {written} is none of its own choices, {', '.join(choices)}")
        return Parameter(name, value, written, choices=choices)
    return None
