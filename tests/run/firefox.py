"""Drive a Firefox that is on the machine through its own WebDriver BiDi: open an address, evaluate a script. No driver is needed."""

import asyncio
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp

NAMES = ("firefox", "firefox-esr")
PATIENCE = 120  # seconds for one command


def find() -> str | None:
    """Give the path of a Firefox, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Firefox:
    """One tab of a running Firefox."""

    def __init__(self, loop: asyncio.AbstractEventLoop, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Take a socket to the browser and open a session on its first tab."""
        self._loop, self._socket, self._number = loop, socket, 0
        self._do("session.new", capabilities={})
        self._tab = self._do("browsingContext.getTree")["contexts"][0]["context"]

    def open(self, address: str) -> None:
        """Open an address and wait for its load event."""
        self._do("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def evaluate(self, script: str) -> Any:
        """Evaluate an expression, await it where it is a promise, and give its value.

        Raises RuntimeError with the page's own words when it throws.
        """
        found = self._do("script.evaluate", expression=script, target={"context": self._tab}, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["text"])
        return found["result"].get("value")

    def _do(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        return asyncio.run_coroutine_threadsafe(self._ask(self._number, method, parameters), self._loop).result(PATIENCE)

    async def _ask(self, number: int, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            answer = await self._socket.receive_json()
            if answer.get("id") != number:
                continue
            if answer["type"] == "error":
                raise RuntimeError(f"{method}: {answer['message']}")
            result: dict[str, Any] = answer["result"]
            return result


@contextmanager
def running(path: str) -> Iterator[Firefox]:
    """Start a headless Firefox with a profile of its own, and end it."""
    with tempfile.TemporaryDirectory() as profile:
        command = [path, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "about:blank"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        # In a thread of its own: Playwright's loop may be running in this one.
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            assert process.stderr
            listening = next(filter(None, (re.search(r"listening on (ws://\S+)", line) for line in process.stderr)))
            session, socket = asyncio.run_coroutine_threadsafe(_connected(f"{listening[1]}/session"), loop).result(PATIENCE)
            yield Firefox(loop, socket)
            asyncio.run_coroutine_threadsafe(session.close(), loop).result(PATIENCE)
        finally:
            process.terminate()
            process.wait(20)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def _connected(address: str) -> tuple[aiohttp.ClientSession, aiohttp.ClientWebSocketResponse]:
    session = aiohttp.ClientSession()
    return session, await session.ws_connect(address, max_msg_size=0)
