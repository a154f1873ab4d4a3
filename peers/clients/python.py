"""The Python SDK as a client of either era, in front of four real servers behind one gateway.

Says `ok NAME` or `not ok NAME: why` once per check, which is what `cargo xtask test` counts.
"""

import argparse
import asyncio
import base64
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from types import SimpleNamespace

import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

# Only decides how late a check fails: far more than a busy machine needs.
CHECK_LIMIT_SECONDS = 300
MODERN = "2026-07-28"
LISTED = {
    "everything": ["echo", "get-sum", "get-structured-content", "get-tiny-image", "trigger-long-running-operation"],
    "filesystem": ["read_text_file", "write_file", "list_directory", "list_allowed_directories"],
    "git": ["git_status", "git_log", "git_commit"],
    "time": ["get_current_time", "convert_time"],
}


class Story:
    """One connected client and what it does with the servers behind the gateway."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.servers = [options.only] if options.only else list(LISTED)
        self.failures = 0
        self.answers = SimpleNamespace(elicitation=None, sampling=None)
        self.updated: asyncio.Queue[str] = asyncio.Queue()
        self.client: Client

    async def check(self, name: str, body: Callable[[], Awaitable[None]]) -> None:
        """Runs one check. One that raises or does not end has failed; the others still run."""
        try:
            await asyncio.wait_for(body(), CHECK_LIMIT_SECONDS)
        except Exception as error:
            self.failures += 1
            why = f"no answer within {CHECK_LIMIT_SECONDS} s" if isinstance(error, TimeoutError) else repr(error)
            print(f"not ok {name}: {' '.join(why.split())[:600]}", flush=True)
        else:
            print(f"ok {name}", flush=True)

    def name(self, server: str, part: str) -> str:
        return part if self.options.plain else f"{server}__{part}"

    async def call(self, server: str, tool: str, arguments: dict | None = None, **extra) -> types.CallToolResult:
        return await self.client.call_tool(self.name(server, tool), arguments or {}, **extra)

    async def tell(self) -> None:
        await self.check("tools/list has every server's tools", self.lists_tools)
        for server in self.servers:
            await getattr(self, server)()

    async def lists_tools(self) -> None:
        # A list does not wait for a server that starts slowly: that one is in a later list.
        wanted = {self.name(server, LISTED[server][0]) for server in self.servers}
        listed: list[str] = []
        while not wanted <= set(listed):
            listed = [tool.name for tool in (await self.client.list_tools()).tools]
        equal(len(set(listed)), len(listed), "number of different names")
        for server in self.servers:
            for tool in LISTED[server]:
                assert self.name(server, tool) in listed, f"`{self.name(server, tool)}` is not listed among {listed}"
        for tool in listed:
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool), f"`{tool}` is not a name that clients accept"

    async def everything(self) -> None:
        async def answers() -> None:
            result = await self.call("everything", "echo", {"message": "höher als die Flut ≈ 🌊"})
            equal(text(result), "Echo: höher als die Flut ≈ 🌊", "text")

        async def structured() -> None:
            result = await self.call("everything", "get-structured-content", {"location": "Chicago"})
            equal(result.structured_content["temperature"], 36, "temperature")

        async def image() -> None:
            result = await self.call("everything", "get-tiny-image")
            data = next(block.data for block in result.content if block.type == "image")
            equal(base64.b64decode(data)[1:4], b"PNG", "signature")

        async def wrong_arguments() -> None:
            result = await self.call("everything", "get-sum", {"a": "many", "b": 2})
            equal(result.is_error, True, "isError")
            contains(text(result), "expected number", "text")

        async def unknown_tool() -> None:
            # A server may say so in a result, a gateway that knows the list says it in an error.
            try:
                result = await self.call("everything", "no-such-tool")
                equal(result.is_error, True, "isError")
                said = text(result)
            except MCPError as error:
                said = str(error)
            contains(said, "no-such-tool", "text")

        async def progress() -> None:
            seen: list[tuple[float, float | None]] = []

            async def step(done: float, total: float | None, _message: str | None) -> None:
                seen.append((done, total))

            arguments = {"duration": 0.3, "steps": 3}
            result = await self.call("everything", "trigger-long-running-operation", arguments, progress_callback=step)
            contains(text(result), "Steps: 3", "text")
            equal(seen, [(1, 3), (2, 3), (3, 3)], "progress")

        async def cancelled() -> None:
            begun = asyncio.Event()

            async def step(*_: object) -> None:
                begun.set()

            arguments = {"duration": 20, "steps": 200}
            call = asyncio.create_task(
                self.call("everything", "trigger-long-running-operation", arguments, progress_callback=step)
            )
            await begun.wait()
            call.cancel()
            await asyncio.wait([call])
            assert call.cancelled(), "the call was not cancelled"
            contains(text(await self.call("everything", "echo", {"message": "still here"})), "still here", "text")

        async def at_once() -> None:
            words = [f"word {at}" for at in range(20)]
            results = await asyncio.gather(*(self.call("everything", "echo", {"message": word}) for word in words))
            equal([text(result) for result in results], [f"Echo: {word}" for word in words], "answers")

        await self.check("everything: a call answers", answers)
        await self.check("everything: structured content fits its schema", structured)
        await self.check("everything: an image arrives", image)
        await self.check("everything: wrong arguments are the server's to refuse", wrong_arguments)
        await self.check("everything: an unknown tool is refused", unknown_tool)
        await self.check("everything: progress comes in order", progress)
        await self.check("everything: a cancelled call ends and the next one works", cancelled)
        await self.check("everything: calls at once keep their answers apart", at_once)
        await self.resources()
        await self.prompts()
        await self.questions()

    async def resources(self) -> None:
        async def listed() -> types.Resource:
            resources = (await self.client.list_resources()).resources
            return next(resource for resource in resources if resource.name.endswith("features.md"))

        async def read() -> None:
            resource = await listed()
            contents = (await self.client.read_resource(resource.uri)).contents[0]
            equal(contents.uri, resource.uri, "uri")
            contains(contents.text, "trigger-long-running-operation", "text")

        async def template() -> None:
            templates = (await self.client.list_resource_templates()).resource_templates
            found = next(each.uri_template for each in templates if "resource/dynamic/text" in each.uri_template)
            contents = (await self.client.read_resource(found.replace("{resourceId}", "7"))).contents[0]
            contains(contents.text, "Resource 7: This is a plaintext resource", "text")

        async def unknown() -> None:
            uri = (await listed()).uri.replace("features.md", "nothing.md")
            await refused(self.client.read_resource(uri), "the read")

        async def subscribed() -> None:
            uri = (await listed()).uri
            async with AsyncExitStack() as stack:
                if self.options.era == "modern":
                    events = await stack.enter_async_context(self.client.listen(resource_subscriptions=[uri]))
                else:
                    await self.client.subscribe_resource(uri)
                contains(text(await self.call("everything", "toggle-subscriber-updates")), "Started", "text")
                if self.options.era == "modern":
                    heard = (await anext(aiter(events))).uri
                else:
                    heard = await self.updated.get()
                equal(heard, uri, "uri")
                contains(text(await self.call("everything", "toggle-subscriber-updates")), "Stopped", "text")

        await self.check("everything: a listed resource can be read", read)
        await self.check("everything: a resource made from a template can be read", template)
        await self.check("everything: an unknown resource is an error", unknown)
        await self.check("everything: a subscriber hears of an update", subscribed)

    async def prompts(self) -> None:
        async def had() -> None:
            name = self.name("everything", "args-prompt")
            listed = [prompt.name for prompt in (await self.client.list_prompts()).prompts]
            assert name in listed, f"`{name}` is not listed among {listed}"
            result = await self.client.get_prompt(name, {"city": "Hamburg", "state": "HH"})
            equal(result.messages[0].content.text, "What's weather in Hamburg, HH?", "text")

        async def completed() -> None:
            reference = types.PromptReference(type="ref/prompt", name=self.name("everything", "completable-prompt"))
            result = await self.client.complete(
                reference, {"name": "name", "value": ""}, context_arguments={"department": "Sales"}
            )
            equal(result.completion.values, ["David", "Eve", "Frank"], "values")

        async def missing() -> None:
            await refused(self.client.get_prompt(self.name("everything", "args-prompt"), {}), "the prompt")

        await self.check("everything: prompts are listed and can be had", had)
        await self.check("everything: an argument is completed", completed)
        await self.check("everything: a missing prompt argument is an error", missing)

    async def questions(self) -> None:
        async def elicited() -> None:
            def answer(params: types.ElicitRequestFormParams) -> types.ElicitResult:
                contains(params.message, "Please provide inputs", "message")
                content = {"name": "Ada Lovelace", "check": True, "email": "ada@example.com", "integer": 7}
                return types.ElicitResult(action="accept", content=content)

            self.answers.elicitation = answer
            contains(text(await self.call("everything", "trigger-elicitation-request")), "Ada Lovelace", "text")

        async def declined() -> None:
            self.answers.elicitation = lambda _params: types.ElicitResult(action="decline")
            contains(text(await self.call("everything", "trigger-elicitation-request")), "declined", "text")

        async def sampled() -> None:
            def answer(params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
                equal(params.max_tokens, 33, "maxTokens")
                said = types.TextContent(type="text", text="Seven boats.")
                return types.CreateMessageResult(role="assistant", model="harbour-1", content=said)

            self.answers.sampling = answer
            arguments = {"prompt": "count the boats", "maxTokens": 33}
            said = text(await self.call("everything", "trigger-sampling-request", arguments))
            contains(said, "Seven boats.", "text")
            contains(said, "harbour-1", "text")

        await self.check("everything: an elicitation in mid-call is answered", elicited)
        await self.check("everything: a declined elicitation is told", declined)
        await self.check("everything: a sampling request in mid-call is answered", sampled)

    async def filesystem(self) -> None:
        file = f"{self.options.folder}/from-python-{os.getpid()}.txt"

        async def written() -> None:
            await self.call("filesystem", "write_file", {"path": file, "content": "Zeile 1\nZeile 2\n"})
            result = await self.call("filesystem", "read_text_file", {"path": file})
            equal(text(result), "Zeile 1\nZeile 2\n", "text")

        async def outside() -> None:
            result = await self.call("filesystem", "read_text_file", {"path": "/etc/hostname"})
            equal(result.is_error, True, "isError")
            contains(text(result), "Access denied", "text")

        await self.check("filesystem: what is written can be read", written)
        await self.check("filesystem: a path outside is the server's to refuse", outside)

    async def git(self) -> None:
        async def log() -> None:
            arguments = {"repo_path": self.options.repository, "max_count": 1}
            contains(text(await self.call("git", "git_log", arguments)), "Lay the keel", "text")

        async def nowhere() -> None:
            result = await self.call("git", "git_status", {"repo_path": f"{self.options.repository}/nowhere"})
            equal(result.is_error, True, "isError")

        await self.check("git: the log is read", log)
        await self.check("git: a folder without a repository is the server's to refuse", nowhere)

    async def time(self) -> None:
        async def converted() -> None:
            arguments = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
            result = await self.call("time", "convert_time", arguments)
            equal(json.loads(text(result))["time_difference"], "+9.0h", "time_difference")

        async def unknown_zone() -> None:
            result = await self.call("time", "get_current_time", {"timezone": "Nowhere/Atlantis"})
            equal(result.is_error, True, "isError")
            contains(text(result), "Atlantis", "text")

        await self.check("time: a time is converted", converted)
        await self.check("time: an unknown zone is the server's to refuse", unknown_zone)


def text(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def equal(actual: object, expected: object, what: str) -> None:
    assert actual == expected, f"{what} is {actual!r}, expected {expected!r}"


def contains(whole: str, part: str, what: str) -> None:
    assert part in whole, f"{what} is {whole!r}, expected it to contain {part!r}"


async def refused(answer: Awaitable[object], what: str) -> None:
    try:
        value = await answer
    except MCPError:
        return
    raise AssertionError(f"{what} answered {value!r}, expected an error")


def read_arguments() -> argparse.Namespace:
    words = sys.argv[1:]
    command = words[words.index("--") + 1 :] if "--" in words else []
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=["legacy", "modern"], required=True)
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--http", metavar="URL")
    way.add_argument("--stdio", action="store_true")
    parser.add_argument("--token")
    parser.add_argument("--only", choices=list(LISTED))
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--repository", required=True)
    options = parser.parse_args(words[: words.index("--")] if "--" in words else words)
    options.command = command
    return options


async def main() -> int:
    options = read_arguments()
    story = Story(options)

    async def elicitation(_context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        return story.answers.elicitation(params)

    async def sampling(_context: object, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        return story.answers.sampling(params)

    async def message(incoming: object) -> None:
        if isinstance(incoming, types.ResourceUpdatedNotification):
            story.updated.put_nowait(incoming.params.uri)

    async with AsyncExitStack() as stack:
        if options.stdio:
            server = StdioServerParameters(command=options.command[0], args=options.command[1:])
        else:
            headers = {"Authorization": f"Bearer {options.token}"} if options.token else {}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=CHECK_LIMIT_SECONDS))
            server = streamable_http_client(options.http, http_client=http)
        client = Client(
            server,
            mode="legacy" if options.era == "legacy" else "auto",
            elicitation_callback=elicitation,
            sampling_callback=sampling,
            message_handler=message,
            cache=None,
        )

        async def connect() -> None:
            story.client = await stack.enter_async_context(client)
            assert story.client.server_capabilities.tools is not None, "the server declares no tools"
            if options.era == "modern":
                equal(story.client.protocol_version, MODERN, "protocol version")
            else:
                assert story.client.protocol_version < MODERN, f"protocol version is {story.client.protocol_version}"

        # Not through `check`: its timeout would run the connection in a task of its own.
        try:
            await connect()
        except Exception as error:
            print(f"not ok connect in the {options.era} era: {' '.join(repr(error).split())[:600]}", flush=True)
            return 1
        print(f"ok connect in the {options.era} era", flush=True)
        await story.tell()
    return 1 if story.failures else 0


sys.exit(asyncio.run(main()))
