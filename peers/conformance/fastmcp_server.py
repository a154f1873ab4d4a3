"""The conformance fixture on FastMCP, in both eras: `fastmcp_server.py --http` or `fastmcp_server.py --stdio`.

Over HTTP it takes a port of the system's choice and prints `listening URL`. What FastMCP has no way to say (prompts that
ask, subscriptions) is left out, as it is of every server that is written with it.
"""

import sys
from typing import Any

import mcp_types as types
import offer
from fastmcp import FastMCP
from fastmcp.prompts import Message
from fastmcp.server.dependencies import get_context
from fastmcp.tools import InputRequiredToolResult, Tool, ToolResult
from listen import serve
from mcp.shared.subscriptions import PromptsListChanged, ToolsListChanged


class Call:
    def __init__(self, arguments: dict[str, Any]) -> None:
        context = get_context()
        self.arguments = arguments
        self.session = context.session
        self.request_id = context.request_id
        self.answers = context.input_responses
        self.state = context.request_state
        self._context = context

    async def announce(self, event: ToolsListChanged | PromptsListChanged) -> None:
        if isinstance(event, ToolsListChanged):
            offer_passing_tool(self._context.fastmcp)
            await self._context.send_notification(types.ToolListChangedNotification())
        else:
            await self._context.send_notification(types.PromptListChangedNotification())


class Offered(Tool):
    """A tool of the offer, with the schema as it is told there."""

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        answer = await offer.TOOLS[self.name].run(Call(arguments))
        if isinstance(answer, types.InputRequiredResult):
            return InputRequiredToolResult(answer)
        return ToolResult(content=answer.content, is_error=answer.is_error or False)


def offered(name: str) -> Offered:
    tool = offer.TOOLS[name]
    return Offered(name=name, description=tool.description, parameters=tool.input_schema)


def offer_passing_tool(server: FastMCP) -> None:
    """Has the tool that comes and goes listed as the offer has it."""
    if "test_passing_tool" in offer.TOOLS:
        server.add_tool(offered("test_passing_tool"))
    else:
        server.local_provider.remove_tool("test_passing_tool")


def server() -> FastMCP:
    made = FastMCP("fastmcp-fixture", version="1.0.0", dereference_schemas=False)
    for name in offer.TOOLS:
        made.add_tool(offered(name))

    def prompted(name: str, **arguments: str) -> list[Message]:
        call = type("Given", (), {"arguments": arguments, "answers": None})
        return [Message(message.content, role=message.role) for message in offer.prompt(name, call).messages]

    @made.prompt
    def test_simple_prompt() -> list[Message]:
        """A prompt without arguments"""
        return prompted("test_simple_prompt")

    @made.prompt
    def test_prompt_with_arguments(arg1: str, arg2: str) -> list[Message]:
        """A prompt with two arguments"""
        return prompted("test_prompt_with_arguments", arg1=arg1, arg2=arg2)

    @made.prompt
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:
        """A prompt around a resource"""
        return prompted("test_prompt_with_embedded_resource", resourceUri=resourceUri)

    @made.prompt
    def test_prompt_with_image() -> list[Message]:
        """A prompt around a picture"""
        return prompted("test_prompt_with_image")

    for resource in offer.RESOURCES:
        content = offer.read(str(resource.uri)).contents[0]
        made.resource(
            str(resource.uri), name=resource.name, description=resource.description, mime_type=resource.mime_type
        )(reader(content))

    @made.resource("test://template/{id}/data", name="template-data", mime_type="application/json")
    def template_data(id: str) -> str:
        """A document for any id"""
        return offer.from_template(id)

    @made.completion
    def completed(_reference, argument, _context) -> types.Completion:
        return offer.completed(argument.value)

    return made


def reader(content: types.TextResourceContents | types.BlobResourceContents):
    import base64

    def read() -> str | bytes:
        return content.text if isinstance(content, types.TextResourceContents) else base64.b64decode(content.blob)

    return read


if __name__ == "__main__":
    if sys.argv[1:] == ["--stdio"]:
        server().run(show_banner=False)
    else:
        serve(server().http_app(host_origin_protection=True))
