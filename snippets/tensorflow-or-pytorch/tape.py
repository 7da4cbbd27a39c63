"""Define-by-run: an operation computes at once and is noted on a tape, which read backwards gives the gradient.

What both engines need stands here too: the operations, their derivatives, and the walk that chains them.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

Matrix = tuple[tuple[float, ...], ...]

X = 2.0  # -4..4 by 0.5: where branch and halve are evaluated


class Value:
    """What an operation gives. Either engine says in apply what an operation does; models and derivatives are the same for both."""

    shape: tuple[int, int]
    operation: str
    inputs: tuple[Any, ...]

    def apply(self, operation: str, *inputs: Any) -> Self:
        """Do, or note, one operation."""
        raise NotImplementedError

    def __add__(self, other: Self | float) -> Self:
        """Add, element by element."""
        return self.apply("add", self, other)

    def __mul__(self, other: Self | float) -> Self:
        """Multiply, element by element."""
        return self.apply("mul", self, other)

    def __matmul__(self, other: Self) -> Self:
        """Give the matrix product."""
        return self.apply("matmul", self, other)

    def __gt__(self, other: Self | float) -> Self:
        """Compare, element by element: 1 or 0."""
        return self.apply("greater", self, other)

    def sigmoid(self) -> Self:
        """Give 1 / (1 + exp(-x)) of each element."""
        return self.apply("sigmoid", self)

    def transposed(self) -> Self:
        """Exchange rows and columns."""
        return self.apply("transpose", self)


# --8<-- [start:model]
def branch(x: Any) -> Any:
    """Take one side or the other, by the value."""
    if x > 0.0:
        return x * x + x * 3.0
    return x * -1.0


def halve(x: Any) -> Any:
    """Loop as often as the value wants."""
    while x > 1.0:
        x = x * 0.5
    return x * x


def network(x: Any, w: Any, b: Any, scale: Any) -> Any:
    """Give a layer with SiLU, carelessly written: the scaled weights and the sum are there twice."""
    return (x @ (w * scale) + b) * (x @ (w * scale) + b).sigmoid()


class Number(Value):
    """The define-by-run engine: apply computes now, and puts what it did on the tape."""

    def __init__(self, data: Matrix, tape: list[Any], operation: str = "", inputs: tuple[Any, ...] = ()) -> None:
        """Hold a matrix; operation and inputs say where it came from."""
        self.data, self.tape, self.operation, self.inputs = data, tape, operation, inputs
        self.shape = (len(data), len(data[0]))

    def apply(self, operation: str, *inputs: Any) -> Self:
        """Compute at once."""
        given = tuple(each if isinstance(each, Number) else Number(((each,),), self.tape) for each in inputs)
        result = type(self)(COMPUTE[operation](*(each.data for each in given)), self.tape, operation, given)
        self.tape.append(result)
        return result

    def __bool__(self) -> bool:
        """Answer Python's if and while: there is a value."""
        return bool(self.data[0][0])


def gradients(history: Sequence[Any], output: Any, seed: Any, wanted: Sequence[Any]) -> list[Any]:
    """Chain derivatives from the output back. With numbers, this computes; with nodes of a graph, it makes the graph longer."""
    found = {output: seed}
    for value in tuple(reversed(history)):
        if value in found and value.operation in DERIVATIVES:
            parts = DERIVATIVES[value.operation](found[value], value, *value.inputs)
            for source, part in zip(value.inputs, parts, strict=True):
                found[source] = found[source] + part if source in found else part
    return [found[value] for value in wanted]


DERIVATIVES: dict[str, Callable[..., tuple[Any, ...]]] = {
    "add": lambda g, _, a, b: (fit(g, a), fit(g, b)),
    "mul": lambda g, _, a, b: (fit(g * b, a), fit(g * a, b)),
    "matmul": lambda g, _, a, b: (g @ b.transposed(), a.transposed() @ g),
    "sigmoid": lambda g, out, _: (g.apply("sigmoid_gradient", g, out),),
}
# --8<-- [end:model]


def fit(g: Any, a: Any) -> Any:
    """Sum a gradient over what was repeated for it: a bias over the rows."""
    for axis in (0, 1):
        if a.shape[axis] < g.shape[axis]:
            g = g.apply(f"sum_{axis}", g)
    return g


def elementwise(function: Callable[..., float], *matrices: Matrix) -> Matrix:
    """Apply a function to each element; a row, a column or a single number is repeated."""
    rows, columns = max(map(len, matrices)), max(len(matrix[0]) for matrix in matrices)
    return tuple(tuple(function(*(matrix[i % len(matrix)][j % len(matrix[0])] for matrix in matrices)) for j in range(columns)) for i in range(rows))


COMPUTE: dict[str, Callable[..., Matrix]] = {
    "add": lambda a, b: elementwise(lambda x, y: x + y, a, b),
    "mul": lambda a, b: elementwise(lambda x, y: x * y, a, b),
    "greater": lambda a, b: elementwise(lambda x, y: float(x > y), a, b),
    "where": lambda c, a, b: elementwise(lambda x, y, z: y if x else z, c, a, b),
    "sigmoid": lambda a: elementwise(lambda x: 1 / (1 + math.exp(-x)), a),
    "sigmoid_gradient": lambda g, s: elementwise(lambda x, y: x * y * (1 - y), g, s),
    "matmul": lambda a, b: tuple(tuple(sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)) for row in a),
    "transpose": lambda a: tuple(zip(*a, strict=True)),
    "sum_0": lambda a: (tuple(map(sum, zip(*a, strict=True))),),
    "sum_1": lambda a: tuple((sum(row),) for row in a),
}


def scalar(value: float) -> Matrix:
    """Give a number as a matrix of one element."""
    return ((value,),)


def ones(shape: tuple[int, int]) -> Matrix:
    """Give a matrix of ones."""
    return ((1.0,) * shape[1],) * shape[0]


def values(rows: int, columns: int, seed: int) -> Matrix:
    """Give a matrix of made-up numbers between -1 and 1."""
    return tuple(tuple(math.sin(seed + 3.7 * row + 1.3 * column) for column in range(columns)) for row in range(rows))


def evaluated(model: Callable[..., Any], at: float) -> tuple[float, float, list[str]]:
    """Give a model's value and derivative at a number, and the operations that went on the tape."""
    tape: list[Number] = []
    x = Number(scalar(at), tape)
    y = model(x)
    names = [record.operation for record in tape]
    (slope,) = gradients(tape, y, Number(scalar(1.0), []), [x])
    return y.data[0][0], slope.data[0][0], names


def main() -> None:
    """Print what either model gives on both sides of its branch, and the tape of each run."""
    for model in (branch, halve):
        for at in (X, -X, 2 * X):
            value, slope, names = evaluated(model, at)
            print(f"{model.__name__}({at:g}) = {value:g}, slope {slope:g}; tape: {' '.join(names)}")
    tape: list[Number] = []
    x, w, b = (Number(values(*shape, seed), tape) for seed, shape in enumerate(((3, 4), (4, 2), (1, 2))))
    y = network(x, w, b, 0.5)
    print(f"network: {len(tape)} operations; of w, the first gradient is ", end="")
    print(f"{gradients(tape, y, Number(ones(y.shape), tape), [x, w, b])[1].data[0][0]:.6f}")


if __name__ == "__main__":
    main()
