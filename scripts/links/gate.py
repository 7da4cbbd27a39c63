"""A gate for each host: how many addresses of one host are asked at a time, learned from how it answers.

It opens wide, narrows when a host refuses because of the crowd, and only widens again after a long calm.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_START = 10
_WIDEST = 20
_LEAST_NEWS = 4
_CALM = 25
_NARROW = 5


class Gate:
    """Admits a changing number of requests to one host."""

    def __init__(self, widest: int = _WIDEST) -> None:
        """Take the number of requests beyond which the gate never widens."""
        self.width = min(_START, widest)
        self.generation = 0
        self.answered = 0
        self.silent = 0
        self._widest = widest
        self._inside = 0
        self._calm = _CALM
        self._crowded = 0
        self._news = 0
        self._condition = asyncio.Condition()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Wait for a place; yield the generation, by which the caller learns whether the gate has narrowed since."""
        async with self._condition:
            await self._condition.wait_for(lambda: self._inside < self.width)
            self._inside += 1
            generation = self.generation
        try:
            yield generation
        finally:
            async with self._condition:
                self._inside -= 1
                self._condition.notify(max(0, self.width - self._inside))

    def note(self, generation: int, *, crowded: bool) -> None:
        """Take in how one request went; one from before the last change says nothing about the width of now."""
        if generation != self.generation:
            return
        self._news += 1
        self._crowded += crowded
        if self._news >= _LEAST_NEWS and self._crowded * 2 >= self._news and self.width > 1:
            self._change(self.width // 2 if self.width > _NARROW else self.width - 1)
            self._calm *= 2
        elif self._news >= self._calm:
            if self._crowded * 4 < self._news:
                self._change(min(self._widest, self.width * 2))
            self._news = self._crowded = 0

    def _change(self, width: int) -> None:
        if width < self.width:
            self.generation += 1
        self.width = width
        self._news = self._crowded = 0
