"""Count the load requests of a kernel on a GPU, beside what the model predicts: what the page claims comes here."""

import json
from pathlib import Path
from typing import Any

import example

import gpu

SOURCE = Path(__file__).with_name("example.cu")
BLOCK = 256
SIZES = (1024, 2**20, 2**24)
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"

TABLES = {
    "counts": {
        "elements": ("元素", "Elements"),
        "predicted_requests": ("预测读请求", "Predicted load requests"),
        "counted_requests": ("实测读请求", "Counted load requests"),
        "measured_time_us": ("时间（µs）", "Time (µs)"),
    },
}


def inputs() -> dict[str, dict[str, Any]]:
    """Give the inputs of each row."""
    return {f"elements_{elements}": {"elements": elements} for elements in SIZES}


def predict(inputs: dict[str, Any]) -> dict[str, Any]:
    """Give the predicted values of a row from its inputs."""
    return {"predicted_requests": example.requests(inputs["elements"])}


def check(rows: dict[str, dict[str, Any]]) -> None:
    """Assert what the page says of these rows."""
    for name, row in rows.items():
        assert row["counted_requests"] == row["predicted_requests"], (name, row)


def main() -> None:
    """Under ncu, launch each row once; else measure everything, check it, and print the record's rows."""
    import cupy  # noqa: PLC0415 - the tests import this module without a GPU

    read = gpu.kernel(SOURCE, "read_one")

    def launch(elements: int) -> None:
        blocks = -(-elements // BLOCK)
        read((blocks,), (BLOCK,), (arrays[elements], results[elements], cupy.int32(elements)))

    arrays = {elements: cupy.arange(elements, dtype=cupy.float32) for elements in SIZES}
    results = {elements: cupy.empty(elements, cupy.float32) for elements in SIZES}
    if gpu.launching():
        for elements in SIZES:
            launch(elements)
        cupy.cuda.Device().synchronize()
        return
    counts = gpu.counters([REQUESTS], "^read_one$")
    rows = inputs()
    for row, count in zip(rows.values(), counts, strict=True):
        elements = row["elements"]
        launch(elements)
        assert (results[elements] == 2 * arrays[elements]).all(), f"{elements}: the kernel computed something else"
        time = gpu.milliseconds(lambda elements=elements: launch(elements))  # type: ignore[misc]
        row.update(predict(row) | {"counted_requests": int(count[REQUESTS]), "measured_time_us": round(time * 1e3, 2)})
    check(rows)
    print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
