"""When to ask again, and how long to wait before: what a host asks for within reason, else a little longer each time."""

import time
from email.utils import parsedate_to_datetime

from links.failures import Kind
from links.fetch import Answer

LONGEST_WAIT = 60.0
MOST_ATTEMPTS = 9
_AGAIN = {408, 425, 429}
_TRIES = {"answer": 3, "crowd": 5, Kind.TIMEOUT: 2, Kind.DRIP: 1, Kind.RESET: 3, Kind.REFUSED: 2, Kind.NOT_HTTP: 2, Kind.FINAL: 1}
_WAITS = (0.4, 1.2, 3.0, 5.0)
_CROWD_WAITS = (1.0, 2.0, 3.0, 5.0)


def wants_again(answer: Answer) -> bool:
    """Say whether a status is one that may be another the next time."""
    return answer.status in _AGAIN or 500 <= answer.status < 600  # noqa: PLR2004 - the range is its definition


def is_crowded(result: Answer | Kind) -> bool:
    """Say whether a result may come from asking too much at a time."""
    return result == Kind.RESET if isinstance(result, Kind) else result.status in {429, 503}


def tries(result: Answer | Kind) -> int:
    """Return how often in all an address with such a result is asked."""
    if isinstance(result, Kind):
        return _TRIES[result]
    return _TRIES["crowd" if result.status == 429 and _asked_wait(result) is None else "answer"]  # noqa: PLR2004 - too many requests


def wait_before(result: Answer | Kind, tried: int) -> float:
    """Return the seconds to wait before the next try; more than `LONGEST_WAIT` means that it is not worth it."""
    if isinstance(result, Kind):
        return _WAITS[min(tried, len(_WAITS)) - 1]
    asked = _asked_wait(result)
    if asked is not None:
        return max(asked, 0.0) + 0.2 * tried
    waits = _CROWD_WAITS if result.status == 429 else _WAITS  # noqa: PLR2004 - too many requests
    return waits[min(tried, len(waits)) - 1]


def _asked_wait(answer: Answer) -> float | None:
    """Read Retry-After: seconds, or a date, which says no more than whole seconds."""
    value = answer.headers.get("retry-after", "").strip()
    if value.replace(".", "", 1).isascii() and value.replace(".", "", 1).isdigit():
        return float(value)
    try:
        return parsedate_to_datetime(value).timestamp() - time.time() + 0.5
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
