"""Asks other hosts: every page once, however many of its anchors are linked to, and nothing that is done is ever lost."""

import asyncio
import contextlib
import signal
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from links.address import Address, parse
from links.answers import judge_answer, judge_fragments
from links.failures import Failure, Kind, unreachable
from links.fetch import ANCHORS, TITLE, Answer, Client, open_client
from links.gate import Gate
from links.guard import Guard
from links.model import ConfigurationError, Judgement, Verdict, unchecked
from links.options import Options
from links.retry import LONGEST_WAIT, MOST_ATTEMPTS, is_crowded, tries, wait_before, wants_again
from links.robots import Robots
from links.rules import HostRule, Rules
from links.state import State

_AT_ONCE = 64
_WAITING = 2000
_SILENT_AFTER = 4
_SLOW_PATIENCE = 3.0

Judgements = dict[str, Judgement]


class _Page(NamedTuple):
    """A page to ask, the fragments of it that are linked to, and the rule for its host."""

    address: Address
    fragments: set[str]
    rule: HostRule | None


def ask_all(addresses: Iterable[str], options: Options, rules: Rules) -> tuple[Judgements, bool]:
    """Judge addresses of other hosts; say also whether the run was interrupted, in which case the rest is left unreachable.

    Raises ConfigurationError where the state file cannot be read or written.
    """
    state = State(options.state, datetime.now(UTC).date())
    if state.lost:
        print(f"check_links: {options.state} is damaged: {state.lost} lines are lost, the others are used", file=sys.stderr)
    guard = Guard(options.allowed)
    judged: Judgements = {}
    pages: dict[str, _Page] = {}
    linked = defaultdict[str, set[str]](set)
    names: dict[str, str] = {}
    for address in addresses:
        page, _, fragment = address.partition("#")
        linked[page].add(fragment)
        names[address] = f"{page}#{fragment}" if fragment else page
    for text, fragments in linked.items():
        place = parse(text)
        rule = rules.rule_for(place)
        if rule is not None and rule.mode == "skip":
            judgement: Judgement | None = unchecked(f"left out by rule: {rule.reason}")
        elif reason := guard.refusal(place):
            judgement = unchecked(f"not asked: {reason}")
        else:
            judgement = state.known(text, fragments - {""})
        if judgement is None:
            pages[text] = _Page(place, fragments, rule)
        else:
            judged.update(_spread(text, fragments, judgement))
    run = _Run(guard, options.max_time, state)
    if pages:
        asyncio.run(run.ask(pages))
    try:
        state.save()
    except OSError as error:
        raise ConfigurationError(f"{options.state} cannot be written: {error.strerror}") from error
    why = "interrupted before it was asked" if run.interrupted else "the run's time was up"
    for text, waiting in pages.items():
        judged.update(run.judged.get(text) or _spread(text, waiting.fragments, unreachable(why)))
    return {address: judged[name] for address, name in names.items()}, run.interrupted


def _spread(page: str, fragments: Iterable[str], judgement: Judgement) -> Judgements:
    return {f"{page}#{fragment}" if fragment else page: judgement for fragment in fragments}


class _Run:
    """One run over the web: its gates, its deadline, and what it has found so far."""

    def __init__(self, guard: Guard, seconds: float, state: State) -> None:
        self.judged: dict[str, Judgements] = {}
        self.interrupted = False
        self._guard = guard
        self._seconds = seconds
        self._state = state
        self._gates: dict[tuple[str, int], Gate] = {}
        self._robots = Robots()
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._deadline = 0.0

    async def ask(self, pages: dict[str, _Page]) -> None:
        """Ask all pages until they are done, the time is up, or a signal ends the run."""
        loop = asyncio.get_running_loop()
        self._deadline = loop.time() + self._seconds
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, stop.set)
        async with open_client(self._guard) as client:
            work = asyncio.create_task(self._ask_each(client, pages))
            end = asyncio.create_task(stop.wait())
            await asyncio.wait({work, end}, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
            self.interrupted = stop.is_set()
            for task in (work, end):
                task.cancel()
            await asyncio.gather(work, end, return_exceptions=True)
        _show_progress(len(self.judged), len(pages), last=True)

    async def _ask_each(self, client: Client, pages: dict[str, _Page]) -> None:
        """Start the pages in an order that mixes hosts and is the same every time."""
        room = asyncio.Semaphore(_WAITING)
        async with asyncio.TaskGroup() as group:
            for text in sorted(pages, key=lambda text: (zlib.crc32(text.encode("utf-8", "replace")), text)):
                await room.acquire()
                task = group.create_task(self._ask_page(client, text, pages[text]))
                task.add_done_callback(lambda _: room.release())
                task.add_done_callback(lambda _: _show_progress(len(self.judged), len(pages)))

    async def _ask_page(self, client: Client, text: str, page: _Page) -> None:
        try:
            result = await self._ask_with_patience(client, page)
            found = _judge_page(text, page, result)
        except Exception as error:  # noqa: BLE001 - one odd page must not take the others' results with it
            found = _spread(text, page.fragments, unreachable(f"the checker failed: {type(error).__name__}: {error}"))
        good = {Verdict.OK, Verdict.REDIRECTED}
        anchors = {address.partition("#")[2] for address, judgement in found.items() if judgement.verdict in good}
        whole = found.get(text) or min(found.values(), key=lambda judgement: judgement.verdict != Verdict.UNREACHABLE)
        if not anchors and "" not in page.fragments and whole.verdict != Verdict.UNREACHABLE:
            self.judged[text] = found
            return
        if "" not in page.fragments and anchors:
            whole = next(judgement for judgement in found.values() if judgement.verdict in good)
        learned = self._state.learn(text, whole, anchors - {""})
        if learned != whole:
            found = {address: learned if judgement == whole else judgement for address, judgement in found.items()}
        self.judged[text] = found

    async def _ask_with_patience(self, client: Client, page: _Page) -> Answer | Judgement:
        """Ask until there is an answer that stays; a try that the gate's narrowing has overtaken does not count."""
        slow = page.rule is not None and page.rule.mode == "slow"
        gate = self._gates.setdefault((page.address.host, page.address.port), Gate(1) if slow else Gate())
        client = client.patient(_SLOW_PATIENCE) if slow else client
        need = ANCHORS if page.fragments - {""} else TITLE
        if not await self._robots.allow(client, page.address):
            return unchecked("not asked: the host's robots.txt wants programs to stay away")
        tried = 0
        for _ in range(MOST_ATTEMPTS):
            async with self._places, gate.slot() as generation:
                if gate.silent >= _SILENT_AFTER and not gate.answered:
                    return unreachable(f"timeout, as for {gate.silent} other addresses of the host")
                outcome: Answer | Judgement
                try:
                    outcome = await client.ask(page.address, need)
                    result: Answer | Kind = outcome
                    gate.answered += 1
                except Failure as failure:
                    outcome, result = failure.judgement, failure.kind
                    gate.silent += result in {Kind.TIMEOUT, Kind.DRIP}
            if not tried:
                gate.note(generation, crowded=is_crowded(result))
            if not (wants_again(result) if isinstance(result, Answer) else result != Kind.FINAL):
                return outcome
            tried += 1
            wait = wait_before(result, tried)
            if tried >= tries(result) or wait > LONGEST_WAIT or asyncio.get_running_loop().time() + wait > self._deadline:
                return outcome
            await asyncio.sleep(wait)
            if is_crowded(result) and gate.generation > generation:
                tried -= 1
        return outcome


def _judge_page(text: str, page: _Page, result: Answer | Judgement) -> Judgements:
    if isinstance(result, Judgement):
        return _spread(text, page.fragments, result)
    judgement = judge_answer(page.address, result)
    fragments = page.fragments - {""}
    found = _spread(text, page.fragments & {""}, judgement)
    if page.rule is not None and page.rule.mode == "no-anchors" and judgement.verdict in {Verdict.OK, Verdict.REDIRECTED}:
        return found | _spread(text, fragments, unchecked(f"its anchors are left out by rule: {page.rule.reason}"))
    return found | {f"{text}#{fragment}": anchor for fragment, anchor in judge_fragments(judgement, result, fragments).items()}


def _show_progress(done: int, total: int, *, last: bool = False) -> None:
    """Draw a bar on a terminal; a log gets none."""
    if sys.stderr.isatty():
        width = 30
        filled = width * done // max(total, 1)
        print(f"\r[{'#' * filled}{'.' * (width - filled)}] {done}/{total}", end="\n" if last else "", file=sys.stderr, flush=True)
