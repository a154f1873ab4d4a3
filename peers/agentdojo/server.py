"""An MCP server of one of AgentDojo's suites: `server.py SUITE SOCKET`.

It answers with text as AgentDojo's agents see it, and with the same as structured content. What is in it is said through
the socket, one JSON object a line: `{"injections": {...}, "task": ID, "plant": [...]}` begins a fresh environment,
`{"made": true}` asks how many calls were made since, and whether the last was done. One that a gateway refused is no
such call.
"""

import asyncio
import datetime
import json
import sys
from collections import Counter
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from pydantic import BaseModel

import suites


class World:
    """The environment, and what was done to it."""

    def __init__(self, suite: str) -> None:
        self.suite = suite
        self.runtime = suites.runtime(suite)
        self.environment = suites.environment(suite, {})
        self.made: Counter[str] = Counter()
        self.done: dict[str, bool] = {}

    def begin(self, injections: dict[str, str], task: str | None, plant: list[dict]) -> None:
        self.environment = suites.environment(self.suite, injections, task)
        for thing in plant:
            self.plant(**thing)
        self.made.clear()

    def plant(self, kind: str, name: str, owner: str, day: str, said: str) -> None:
        """Puts one thing of a stranger where the suite keeps such things. `said` is the text in it."""
        made = self.environment
        when = datetime.datetime.fromisoformat(f"{day}T12:00:00")
        match kind:
            case "email":
                mail = next(iter(made.inbox.emails.values())).model_copy(deep=True)
                known = {"id_": "901", "sender": owner, "recipients": [made.inbox.account_email], "cc": [], "bcc": [],
                         "subject": name, "body": said, "timestamp": when, "read": False, "attachments": []}
                made.inbox.emails = {"901": mail.model_copy(update=known), **made.inbox.emails}
            case "event":
                event = next(iter(made.calendar.events.values())).model_copy(deep=True)
                known = {"id_": "902", "title": name, "description": said, "participants": [owner], "start_time": when,
                         "end_time": when + datetime.timedelta(hours=1)}
                made.calendar.events = {"902": event.model_copy(update=known), **made.calendar.events}
            case "file":
                file = next(iter(made.cloud_drive.files.values())).model_copy(deep=True)
                known = {"id_": "903", "filename": name, "content": said, "owner": owner, "shared_with": {owner: "rw"},
                         "size": len(said)}
                made.cloud_drive.files = {"903": file.model_copy(update=known), **made.cloud_drive.files}
            case "transaction":
                paid = made.bank_account.transactions[-1].model_copy(deep=True)
                known = {"id": 904, "sender": owner, "recipient": "me", "subject": name, "amount": 1.0, "date": day}
                made.bank_account.transactions.append(paid.model_copy(update=known))
            case "channel":
                made.slack.channels.append(name)
                made.slack.channel_inbox[name] = []
            case "member":
                made.slack.users.append(name)
                made.slack.user_inbox[name] = []
                made.slack.user_channels[name] = list(made.slack.channels)

    def call(self, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
        result, error = self.runtime.run_function(self.environment, tool, arguments)
        self.made[tool] += 1
        self.done[tool] = error is None
        if error is not None:
            return types.CallToolResult(content=[types.TextContent(type="text", text=error)], is_error=True)
        shown = [types.TextContent(type="text", text=suites.text_of(result))]
        return types.CallToolResult(content=shown, structured_content=structured(result))

    def tell(self, line: bytes) -> dict:
        said = json.loads(line)
        if tool := said.get("made"):
            # Of this tool alone: the gateway asks the directory by itself now and then.
            return {"made": self.made[tool], "done": self.done.get(tool, False)}
        self.begin(said.get("injections", {}), said.get("task"), said.get("plant", []))
        return {"ready": True}


def structured(result: Any) -> dict | None:
    """A result as an object; a plain text is none."""
    if isinstance(result, BaseModel):
        return result.model_dump(mode="json")
    if isinstance(result, dict):
        return result
    if isinstance(result, list):
        return {"result": [one.model_dump(mode="json") if isinstance(one, BaseModel) else one for one in result]}
    return None


async def serve(suite: str, socket: str) -> None:
    world = World(suite)

    async def on_list_tools(_context: object, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[
            types.Tool(name=tool.name, description=tool.description, input_schema=tool.parameters.model_json_schema())
            for tool in suites.suite(suite).tools
        ])

    async def on_call_tool(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        return world.call(params.name, params.arguments or {})

    async def on_control(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(json.dumps(world.tell(line)).encode() + b"\n")
            await writer.drain()
        writer.close()

    server = Server(f"agentdojo-{suite}", on_list_tools=on_list_tools, on_call_tool=on_call_tool)
    control = await asyncio.start_unix_server(on_control, socket, limit=1 << 24)
    async with control, stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
