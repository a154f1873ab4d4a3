"""The Python SDK where calls wait for a person, as a client of either era.

It declares forms and pages together or neither, so there are three kinds of it: `form` for calls that take a button,
`url` for calls that take a passkey, and `none`. Says `ok NAME` or `not ok NAME: why` once per check.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from approval_person import Operator, Person, until
from relay import Relay

# Only decides how late a check fails: far more than a busy machine needs.
CHECK_LIMIT_SECONDS = 300
# Takes a passkey.
DELETE = "files__delete"
# Takes a button.
WRITE = "files__write"
# Takes nothing.
LOOK = "files__look"

ACCEPT = types.ElicitResult(action="accept")
YES = types.ElicitResult(action="accept", content={"allow": True})
EMPTY = types.ElicitResult(action="accept", content={"allow": False})
DECLINE = types.ElicitResult(action="decline")


class Story:
    def __init__(self, options: argparse.Namespace, operator: Operator, person: Person) -> None:
        self.options, self.operator, self.person = options, operator, person
        self.failures = 0

    async def check(self, name: str, body: Callable[[], Awaitable[None]]) -> None:
        """Runs one check. One that raises or does not end has failed; the others still run."""
        try:
            await asyncio.wait_for(body(), CHECK_LIMIT_SECONDS)
        except Exception as error:
            self.failures += 1
            print(f"not ok {name}: {' '.join(repr(error).split())[:600]}", flush=True)
        else:
            print(f"ok {name}", flush=True)

    def ran(self, path: str) -> int:
        """How often the server was called with this path."""
        lines = Path(self.options.journal).read_text().splitlines()
        return sum("tools/call" in line and path in line for line in lines)

    @asynccontextmanager
    async def client(
        self, token: str, asked: list | None = None, answer: Callable | None = None, endpoint: str | None = None
    ):
        """A connected client. It can be asked if it has an answer."""

        async def elicitation(_context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
            asked.append(params)
            return await answer()

        async with AsyncExitStack() as stack:
            headers = {"Authorization": f"Bearer {token}"}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=CHECK_LIMIT_SECONDS))
            yield await stack.enter_async_context(
                Client(
                    streamable_http_client(endpoint or self.options.http, http_client=http),
                    mode="legacy" if self.options.era == "legacy" else "auto",
                    elicitation_callback=elicitation if answer else None,
                    cache=None,
                )
            )

    async def call(
        self,
        token: str,
        tool: str,
        path: str,
        asked: list | None = None,
        answer: Callable | None = None,
        endpoint: str | None = None,
    ):
        """One call by a client of its own."""
        async with self.client(token, asked, answer, endpoint) as client:
            return await client.call_tool(tool, {"path": path})

    async def looked(self, token: str) -> None:
        """Makes a call that needs nobody: whatever was to reach the server before has reached it."""
        async with self.client(token) as client:
            done(await client.call_tool(LOOK, {}))

    async def none(self, token: str) -> None:
        async def held(tool: str, answer: Callable[[str], Awaitable[None]]) -> None:
            path = f"none-{tool}"
            call = asyncio.create_task(self.call(token, tool, path))
            request = await self.operator.pending(path)
            equal(self.ran(path), 0, "calls that ran before the answer")
            await answer(request)
            done(await call)
            equal(self.ran(path), 1, "calls that ran")

        async def late() -> None:
            path = "none-late"
            first = await self.call(token, DELETE, path)
            equal(first.is_error, True, "isError")
            page = (first.meta or {})["dev.highwater/approval"]
            equal(page["state"], "pending", "state")
            contains(text(first), page["url"], "text")
            contains(text(first), "call again with identical arguments", "text")
            retry = asyncio.create_task(self.call(token, DELETE, path))
            request = await self.operator.pending(path)
            equal(request, page["url"].rsplit("/", 1)[1], "the request that the retry waits for")
            await self.looked(token)
            equal(self.ran(path), 0, "calls that ran before the answer")
            await self.person.sign(request)
            done(await retry)
            equal(self.ran(path), 1, "calls that ran")

        async def declined() -> None:
            path = "none-declined"
            call = asyncio.create_task(self.call(token, DELETE, path))
            await self.person.decline(await self.operator.pending(path))
            refused(await call)
            refused(await self.call(token, DELETE, path))
            equal(self.ran(path), 0, "calls that ran")

        sign, confirm = self.person.sign, self.person.confirm
        await self.check(f"none: {DELETE} is held and runs once when the person has signed", lambda: held(DELETE, sign))
        await self.check(f"none: {WRITE} is held and runs once when the person has agreed", lambda: held(WRITE, confirm))
        await self.check("none: a call that was held long enough says where to answer, and the identical one joins", late)
        await self.check("none: a call that the person declines does not run, now or when it comes again", declined)
        await self.check("none: a held call whose client has gone does not run when it is approved", lambda: self.gone(token))

    async def gone(self, token: str, asked: list | None = None, answer: Callable | None = None) -> None:
        path = "url-gone" if answer else "none-gone"
        relay = await Relay.before(self.options.http)
        lost = asyncio.create_task(self.call(token, DELETE, path, asked, answer, relay.url))
        request = await self.operator.pending(path)
        if answer and self.options.era == "modern":
            await until(lambda: relay.sent("inputResponses"), "the second round of the call")
        lost.cancel()
        await asyncio.wait([lost])
        await relay.gone(path)
        await self.person.sign(request)
        await self.looked(token)
        equal(self.ran(path), 0, "calls that ran without a caller")
        done(await self.call(token, DELETE, path, asked, answer))
        equal(self.ran(path), 1, "calls that ran")

    async def url(self, token: str) -> None:
        async def accepts() -> types.ElicitResult:
            return ACCEPT

        async def declines() -> types.ElicitResult:
            return DECLINE

        async def signed() -> None:
            path, asked = "url-yes", []
            call = asyncio.create_task(self.call(token, DELETE, path, asked, accepts))
            await until(lambda: asked, "the elicitation")
            equal(asked[0].mode, "url", "mode")
            contains(asked[0].message, f"{DELETE} on files", "message")
            await self.looked(token)
            equal(self.ran(path), 0, "calls that ran because the page was opened")
            await self.person.sign(asked[0].url.rsplit("/", 1)[1])
            done(await call)
            equal((len(asked), self.ran(path)), (1, 1), "questions and calls that ran")

        async def declined() -> None:
            path, asked = "url-declined", []
            call = asyncio.create_task(self.call(token, DELETE, path, asked, accepts))
            await self.person.decline(await self.operator.pending(path))
            refused(await call)
            refused(await self.call(token, DELETE, path, asked, accepts))
            equal(self.ran(path), 0, "calls that ran")

        async def unopened() -> None:
            path, asked = "url-unopened", []
            refused(await self.call(token, DELETE, path, asked, declines))
            equal((len(asked), self.ran(path)), (1, 0), "questions and calls that ran")

        await self.check("url: a call runs once when the person has signed on the page", signed)
        await self.check("url: a call that the person declines on the page does not run", declined)
        await self.check("url: a call whose page the person does not open does not run", unopened)
        await self.check("url: a held call whose client has gone does not run when it is approved", lambda: self.gone(token, [], accepts))

    async def form(self, token: str) -> None:
        async def answered(path: str, result: types.ElicitResult) -> tuple[types.CallToolResult, list]:
            asked: list = []

            async def answer() -> types.ElicitResult:
                equal(self.ran(path), 0, "calls that ran before the answer")
                return result

            return await self.call(token, WRITE, path, asked, answer), asked

        async def agreed() -> None:
            result, asked = await answered("form-yes", YES)
            done(result)
            contains(asked[0].message, f"`{WRITE}` of server `files`", "message")
            equal((len(asked), self.ran("form-yes")), (1, 1), "questions and calls that ran")

        async def not_agreed(path: str, no: types.ElicitResult) -> None:
            result, asked = await answered(path, no)
            refused(result)
            equal((len(asked), self.ran(path)), (1, 0), "questions and calls that ran")

        async def gone() -> None:
            path, asked = "form-gone", []

            async def thinks() -> types.ElicitResult:
                await asyncio.sleep(CHECK_LIMIT_SECONDS)
                return YES

            relay = await Relay.before(self.options.http)
            lost = asyncio.create_task(self.call(token, WRITE, path, asked, thinks, relay.url))
            await until(lambda: asked, "the form")
            lost.cancel()
            await asyncio.wait([lost])
            await relay.gone(path)
            await self.looked(token)
            equal(self.ran(path), 0, "calls that ran")
            result, asked = await answered(path, YES)
            done(result)
            equal((len(asked), self.ran(path)), (1, 1), "questions and calls that ran")

        await self.check("form: a call runs once when the person ticks the box", agreed)
        await self.check("form: a call does not run when the person declines", lambda: not_agreed("form-no", DECLINE))
        await self.check("form: a call does not run when the box stays empty", lambda: not_agreed("form-empty", EMPTY))
        await self.check("form: a call whose client goes away with the form open does not run; the identical one asks anew", gone)


def text(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def done(result: types.CallToolResult) -> None:
    assert not result.is_error, f"the call was refused: {text(result)}"
    equal(text(result), "done", "text")


def refused(result: types.CallToolResult) -> None:
    equal(result.is_error, True, "isError")
    contains(text(result), "did not approve", "text")


def equal(actual: object, expected: object, what: str) -> None:
    assert actual == expected, f"{what} is {actual!r}, expected {expected!r}"


def contains(whole: str, part: str, what: str) -> None:
    assert part in whole, f"{what} is {whole!r}, expected it to contain {part!r}"


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=["legacy", "modern"], required=True)
    for name in ("--http", "--operator", "--journal"):
        parser.add_argument(name, required=True)
    return parser.parse_args()


async def main() -> int:
    options = read_arguments()
    operator = Operator(options.http, options.operator)
    story = Story(options, operator, await Person.enrolled(operator))
    # At once: each kind is an agent of its own.
    await asyncio.gather(*[getattr(story, kind)(await operator.secret(kind)) for kind in ("url", "form", "none")])
    return 1 if story.failures else 0


sys.exit(asyncio.run(main()))
