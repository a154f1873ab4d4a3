"""The conformance fixture on the Python SDK, in both eras: `python_server.py --http` or `python_server.py --stdio`.

Over HTTP it takes a port of the system's choice and prints `listening URL`.
"""

import sys
import warnings

import anyio
import mcp_types as types
import offer
from listen import serve
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.context import ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import PromptsListChanged, ToolsListChanged

BUS = InMemorySubscriptionBus()


class Call:
    def __init__(self, context: ServerRequestContext, params) -> None:
        self.arguments = params.arguments or {}
        self.session = context.session
        self.request_id = context.request_id
        self.answers = params.input_responses
        self.state = params.request_state

    async def announce(self, event: ToolsListChanged | PromptsListChanged) -> None:
        await BUS.publish(event)


async def list_tools(_context, _params) -> types.ListToolsResult:
    tools = [
        types.Tool(name=name, description=tool.description, input_schema=tool.input_schema)
        for name, tool in offer.TOOLS.items()
    ]
    return types.ListToolsResult(tools=tools)


async def call_tool(context: ServerRequestContext, params: types.CallToolRequestParams):
    tool = offer.TOOLS.get(params.name)
    if tool is None:
        raise MCPError(types.INVALID_PARAMS, f"no tool `{params.name}`")
    return await tool.run(Call(context, params))


async def list_prompts(_context, _params) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=offer.PROMPTS)


async def get_prompt(context: ServerRequestContext, params: types.GetPromptRequestParams):
    return offer.prompt(params.name, Call(context, params))


async def list_resources(_context, _params) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=offer.RESOURCES)


async def list_templates(_context, _params) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=offer.TEMPLATES)


async def read_resource(_context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    return offer.read(str(params.uri))


async def complete(_context, params: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=offer.completed(params.argument.value))


async def nothing(_context, _params) -> types.EmptyResult:
    return types.EmptyResult()


def server() -> Server:
    # Log levels belong to the older versions, and clients of those want them.
    warnings.simplefilter("ignore")
    made = Server(
        "python-fixture",
        version="1.0.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=nothing,
        on_unsubscribe_resource=nothing,
        on_subscriptions_listen=ListenHandler(BUS),
        on_completion=complete,
        on_set_logging_level=nothing,
        get_tool_input_schema=lambda name: tool.input_schema if (tool := offer.TOOLS.get(name)) else None,
    )
    made.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="python-fixture"))
    return made


async def over_stdio() -> None:
    made = server()
    async with stdio_server() as (incoming, outgoing):
        await made.run(incoming, outgoing, made.create_initialization_options(NotificationOptions()))


if __name__ == "__main__":
    if sys.argv[1:] == ["--stdio"]:
        anyio.run(over_stdio)
    else:
        serve(server().streamable_http_app())
