"""Train the two small networks of scripts/digits.py on scikit-learn's digits and keep their weights in scripts/digits.npz.

    python scripts/train_digits.py        needs jax and scikit-learn; a minute on two cores

The weights are kept, because another machine's sums round otherwise; what they are worth, digits.py's accuracy says.
"""

import importlib
from typing import Any

import numpy as np

import digits

jax: Any = importlib.import_module("jax")
jnp: Any = jax.numpy

EPOCHS, BATCH, RATE, DECAY = 60, 50, 2e-3, 1e-4


def main() -> None:
    """Train both networks and write the file."""
    images, labels = digits.data()[0]
    kept: dict[str, Any] = {}
    for name, start, apply in (("cnn", cnn_start, cnn), ("attention", attention_start, attention)):
        weights = train(start(np.random.default_rng(1)), apply, digits.prepare(images), labels)
        kept |= {f"{name}.{key}": np.asarray(value, np.float32) for key, value in weights.items()}
        held, answers = digits.data()[1]
        right = np.mean(np.argmax(np.asarray(apply(weights, digits.prepare(held))), 1) == answers)
        print(f"{name}: {sum(value.size for value in weights.values())} weights, {right:.2%} of the {len(answers)} test images")
    np.savez_compressed(digits.WEIGHTS, **kept)


def cnn_start(random: Any) -> dict[str, Any]:
    """Give the convolutional network's first weights."""
    shapes = {"conv1": (16, 1), "conv2": (32, 16), "conv3": (32, 32), "conv4": (32, 32)}
    weights: dict[str, Any] = {}
    for name, (outputs, inputs) in shapes.items():
        weights[name + ".w"] = random.normal(0, (2 / (9 * inputs)) ** 0.5, (outputs, inputs, 3, 3)).astype(np.float32)
        weights[name + ".b"] = np.zeros(outputs, np.float32)
    return weights | {"fc.w": random.normal(0, 0.04, (512, 10)).astype(np.float32), "fc.b": np.zeros(10, np.float32)}


def cnn(weights: dict[str, Any], images: Any) -> Any:
    """Give the convolutional network's scores."""

    def conv(x: Any, name: str, stride: int = 1) -> Any:
        y = jax.lax.conv_general_dilated(x, weights[name + ".w"], (stride, stride), [(1, 1), (1, 1)])
        return y + weights[name + ".b"][:, None, None]

    x = jax.nn.relu(conv(jnp.asarray(images), "conv1"))
    x = jax.nn.relu(conv(x, "conv2"))
    x = jax.nn.relu(conv(x, "conv3") + x)
    x = jax.nn.relu(conv(x, "conv4", 2))
    return x.reshape(len(x), -1) @ weights["fc.w"] + weights["fc.b"]


def attention_start(random: Any) -> dict[str, Any]:
    """Give the attention network's first weights."""
    shapes = {"embed": (8, 32), "q": (32, 32), "k": (32, 32), "v": (32, 32), "o": (32, 32), "up": (32, 64), "down": (64, 32), "fc": (32, 10)}
    weights: dict[str, Any] = {"position": random.normal(0, 0.5, (8, 32)).astype(np.float32)}
    for name, shape in shapes.items():
        weights[name + ".w"] = random.normal(0, shape[0] ** -0.5, shape).astype(np.float32)
        weights[name + ".b"] = np.zeros(shape[1], np.float32)
    for name in ("norm1", "norm2", "norm3"):
        weights |= {name + ".w": np.ones(32, np.float32), name + ".b": np.zeros(32, np.float32)}
    return weights


def attention(weights: dict[str, Any], images: Any) -> Any:
    """Give the attention network's scores; a token is a column of pixels."""

    def norm(x: Any) -> Any:
        x = x - x.mean(-1, keepdims=True)
        return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)

    def dense(x: Any, name: str) -> Any:
        return x @ weights[name + ".w"] + weights[name + ".b"]

    def scaled(x: Any, name: str) -> Any:
        return norm(x) * weights[name + ".w"] + weights[name + ".b"]

    x = norm(jnp.swapaxes(jnp.asarray(images)[:, 0], 1, 2))
    x = dense(x, "embed") + weights["position"]
    y = scaled(x, "norm1")
    scores = dense(y, "q") @ jnp.swapaxes(dense(y, "k"), 1, 2) / 32**0.5
    x = x + dense(jax.nn.softmax(scores) @ dense(y, "v"), "o")
    x = x + dense(jax.nn.relu(dense(scaled(x, "norm2"), "up")), "down")
    return dense(scaled(x, "norm3").mean(1), "fc")


def train(weights: dict[str, Any], apply: Any, images: Any, labels: Any) -> dict[str, Any]:
    """Minimise the cross-entropy with Adam, shuffled anew each epoch, the rate falling to zero."""

    def loss(weights: dict[str, Any], x: Any, y: Any) -> Any:
        scores = jax.nn.log_softmax(apply(weights, x))
        return -scores[jnp.arange(len(y)), y].mean() + DECAY * sum((value**2).sum() for value in weights.values())

    gradient = jax.jit(jax.grad(loss))

    def step(state: Any, slopes: Any, number: Any, rate: Any) -> Any:
        weights, first, second = state
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, slopes)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, slopes)
        weights = jax.tree.map(
            lambda w, m, v: w - rate * (m / (1 - 0.9**number)) / (jnp.sqrt(v / (1 - 0.999**number)) + 1e-8), weights, first, second
        )
        return weights, first, second

    compiled = jax.jit(step)
    random, number = np.random.default_rng(2), 0
    first = jax.tree.map(jnp.zeros_like, weights)
    second = first
    steps = EPOCHS * (len(labels) // BATCH)
    for _ in range(EPOCHS):
        order = random.permutation(len(labels))
        for start in range(0, len(labels) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            number += 1
            slopes = gradient(weights, images[chosen], labels[chosen])
            weights, first, second = compiled((weights, first, second), slopes, float(number), RATE * (1 - number / steps))
    return weights


if __name__ == "__main__":
    main()
