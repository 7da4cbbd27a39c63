"""Write what the calibration lab downloads, snippets/calibration/digits.json: the images, and the weights of scripts/digits.npz.

python scripts/lab_digits.py        needs scikit-learn, which has the images
"""

import base64
import json
from typing import Any

import digits
from project import SNIPPETS, shown

KEPT = SNIPPETS / "calibration" / "digits.json"
ABOUT = (
    "E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998, "
    "https://doi.org/10.24432/C50P49 (CC BY 4.0, https://creativecommons.org/licenses/by/4.0/), as scikit-learn carries it, "
    "shuffled and split; one digit of base 17 a pixel. "
    "Weights: float32, little-endian, base64."
)


def main() -> None:
    """Write the file."""
    (images, _), (held, labels) = digits.data()
    kept = {
        "about": ABOUT,
        "calibration": [written(image) for image in images[: digits.CALIBRATION]],
        "test": [written(image) for image in held],
        "labels": "".join(map(str, labels)),
        "weights": {name.replace(".", "_"): encoded(array) for name, array in digits.weights("cnn").items()},
    }
    KEPT.write_text(json.dumps(kept, indent=0) + "\n", "utf-8")
    print(f"wrote {shown(KEPT)}")


def written(image: Any) -> str:
    """Give an image's 64 pixels, each 0 to 16, as one digit each."""
    return "".join("0123456789abcdefg"[int(pixel)] for pixel in image.ravel())


def encoded(array: Any) -> dict[str, Any]:
    """Give an array's shape and bytes."""
    return {"shape": list(array.shape), "float32": base64.b64encode(array.astype("<f4").tobytes()).decode()}


if __name__ == "__main__":
    main()
