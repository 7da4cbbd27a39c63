"""Predict how often tf.function traces and torch.compile compiles when a function is called with one argument after another.

The rules are those of TensorFlow 2.21 (cache keys, reduce_retracing) and PyTorch 2.13 (guards, automatic dynamic shapes, a limit of
8 versions), as far as a function of one argument meets them.
"""

from collections.abc import Callable
from typing import NamedTuple

# --8<-- [start:model]
# Change this and run again: tensors such as 2x8 or f64:2x8, Python's int:3 float:0.5 bool:True str:a, and global=3, which
# between two calls changes a global that the function reads.
PROGRAM = "2x8 3x8 4x8 1x8 global=3 4x8"
LIMIT = 8  # versions of a function that Dynamo compiles; after them, a call that fits none runs eagerly


class Call(NamedTuple):
    """An argument: its kind, a tensor's sizes or a Python value, and the global that the function will read."""

    kind: str
    sizes: tuple[int, ...] | None
    value: int | float | str | None
    outside: str


class Version(NamedTuple):
    """What a trace was made for; None in place of a size or value stands for any."""

    kind: str
    sizes: tuple[int | None, ...] | None
    value: int | float | str | None
    outside: str


def tf_function(calls: list[Call], *, relax: bool = False) -> int:
    """Count the traces of tf.function: one for each new key. The key is the argument; a global is not in it."""
    traces, newest = 0, dict[str, list[int | None] | None]()
    known = list[tuple[str, object]]()
    for call in calls:
        if call.sizes is None:  # Python's own equality: 1 == 1.0 == True
            hit = ("python", call.value) in known
            known += [] if hit else [("python", call.value)]
        else:
            hit = any(kind == call.kind and accepts(sizes, call.sizes) for kind, sizes in known if kind != "python")
            spec: list[int | None] | None = list(call.sizes)
            if not hit and relax and call.kind in newest:
                spec = joined(newest[call.kind], call.sizes)
            known += [] if hit else [(call.kind, spec)]
            newest |= {} if hit else {call.kind: spec}
        traces += not hit
    return traces


def torch_compile(calls: list[Call], *, dynamic: bool | None = None) -> int:
    """Count what torch.compile compiles: a call that no version's guards let in makes a new one, at most LIMIT."""
    versions = list[Version]()
    seen = list[Call]()
    for call in calls:
        alike = [old for old in seen if old.kind == call.kind]
        seen.append(call)
        if len(versions) == LIMIT or any(guarded(version, call) for version in versions):
            continue
        if call.sizes is None:
            varies = call.kind in ("int", "float") and dynamic is not False and (dynamic or any(old.value != call.value for old in alike))
            versions.append(Version(call.kind, None, None if varies else call.value, call.outside))
            continue
        sizes: list[int | None] = list(call.sizes)
        for index, size in enumerate(call.sizes):
            # A size that was another one before becomes a symbol; 0 and 1 never do.
            changed = any(len(old.sizes or ()) == len(sizes) and (old.sizes or ())[index] != size for old in alike)
            if size > 1 and dynamic is not False and (dynamic or changed):
                sizes[index] = None
        versions.append(Version(call.kind, tuple(sizes), None, call.outside))
    return len(versions)


def guarded(version: Version, call: Call) -> bool:
    """Tell whether a version's guards let a call in: the argument's type and sizes, and every global that was read."""
    if version.kind != call.kind or version.outside != call.outside:
        return False
    if version.sizes is None or call.sizes is None:
        return version.value is None or version.value == call.value
    pairs = list(zip(version.sizes, call.sizes, strict=False))
    return len(version.sizes) == len(call.sizes) and all(size > 1 if wanted is None else size == wanted for wanted, size in pairs)


# --8<-- [end:model]
PROGRAMS = {
    "same": "2x8 2x8 2x8",
    "rows": "2x8 3x8 4x8",
    "rows_and_columns": "2x8 3x8 4x9 5x10",
    "one_row": "2x8 3x8 1x8",
    "type": "2x8 f64:2x8 2x8",
    "rank": "8 2x8 2x2x8",
    "ints": "int:1 int:2 int:3 int:1",
    "floats": "float:0.5 float:1.5 float:2.5",
    "bools": "bool:True bool:False bool:True",
    "equal": "int:1 float:1.0 bool:True",
    "strings": " ".join(f"str:{letter}" for letter in "abcdefghij"),
    "global": "2x8 global=3 2x8 global=4 2x8",
}
WAYS = ("tf.function", "relaxed", "torch.compile", "static", "dynamic")
READ: dict[str, Callable[[str], int | float | str]] = {"int": int, "float": float, "bool": lambda text: text == "True", "str": str}


def accepts(spec: object, sizes: tuple[int, ...]) -> bool:
    """Tell whether a traced shape, None in it or as a whole standing for any, takes these sizes."""
    if not isinstance(spec, list):
        return True
    return len(spec) == len(sizes) and all(wanted in (None, size) for wanted, size in zip(spec, sizes, strict=True))


def joined(spec: list[int | None] | None, sizes: tuple[int, ...]) -> list[int | None] | None:
    """Give the shape that takes both."""
    if spec is None or len(spec) != len(sizes):
        return None
    return [wanted if wanted == size else None for wanted, size in zip(spec, sizes, strict=True)]


def parse(program: str) -> list[Call]:
    """Read a program into calls."""
    calls, outside = [], "2"
    for word in program.split():
        kind, colon, text = word.rpartition(":")
        if word.startswith("global="):
            outside = word.removeprefix("global=")
        elif colon and kind in READ:
            calls.append(Call(kind, None, READ[kind](text), outside))
        else:
            calls.append(Call(kind or "f32", tuple(int(size) for size in text.split("x")), None, outside))
    return calls


def traces(program: str, way: str) -> int:
    """Count the traces of a program in one of WAYS."""
    calls = parse(program)
    if way in ("tf.function", "relaxed"):
        return tf_function(calls, relax=way == "relaxed")
    return torch_compile(calls, dynamic={"torch.compile": None, "static": False, "dynamic": True}[way])


def main() -> None:
    """Print the traces of PROGRAM and of the kept programs."""
    print(f"{'':34}{'tf.function':>11}{'relaxed':>9}{'torch.compile':>15}{'static':>8}{'dynamic':>9}")
    for program in (PROGRAM, *PROGRAMS.values()):
        numbers = [traces(program, way) for way in WAYS]
        print(f"{program if len(program) < 34 else program[:29] + ' ...':34}{numbers[0]:11}{numbers[1]:9}{numbers[2]:15}{numbers[3]:8}{numbers[4]:9}")


if __name__ == "__main__":
    main()
