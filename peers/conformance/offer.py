"""What the conformance suite asks of a server by name, told once for both Python servers.

A tool, prompt or read is a function of a `Call`, which each server makes of its own SDK's context. Questions are put in
the manner of the two eras: the older tools ask in mid-call, those named `input_required` end the call with a question.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio
import mcp_types as types
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import PromptsListChanged, ToolsListChanged

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
MISSING_CAPABILITY = -32021

Answer = types.CallToolResult | types.InputRequiredResult
PromptAnswer = types.GetPromptResult | types.InputRequiredResult


class Call(Protocol):
    """A request as the functions below see it."""

    arguments: Mapping[str, Any]
    session: ServerSession
    request_id: types.RequestId
    answers: types.InputResponses | None
    state: str | None

    async def announce(self, event: ToolsListChanged | PromptsListChanged) -> None: ...


@dataclass
class Tool:
    description: str
    run: Callable[[Call], Awaitable[Answer]]
    properties: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    schema: dict[str, Any] | None = None

    @property
    def input_schema(self) -> dict[str, Any]:
        own = {"type": "object", "properties": self.properties}
        return self.schema or (own | {"required": self.required} if self.required else own)


TOOLS: dict[str, Tool] = {}


def tool(name: str, description: str, **more: Any) -> Callable[[Callable[[Call], Awaitable[Answer]]], None]:
    def keep(run: Callable[[Call], Awaitable[Answer]]) -> None:
        TOOLS[name] = Tool(description, run, **more)

    return keep


# === Content ===


def text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str, mime: str, words: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(type="resource", resource=types.TextResourceContents(uri=uri, mime_type=mime, text=words))


def said(*content: types.ContentBlock, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=list(content), is_error=is_error)


def words(content: str) -> types.CallToolResult:
    return said(text(content))


@tool("test_simple_text", "Answers with one text")
async def _(call: Call) -> Answer:
    return words("This is a simple text response for testing.")


@tool("test_image_content", "Answers with one picture")
async def _(call: Call) -> Answer:
    return said(image())


@tool("test_audio_content", "Answers with one sound")
async def _(call: Call) -> Answer:
    return said(types.AudioContent(type="audio", data=WAV, mime_type="audio/wav"))


@tool("test_embedded_resource", "Answers with one embedded resource")
async def _(call: Call) -> Answer:
    return said(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))


@tool("test_multiple_content_types", "Answers with three kinds of content")
async def _(call: Call) -> Answer:
    mixed = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return said(text("Multiple content types test:"), image(), mixed)


@tool("test_error_handling", "Runs and fails")
async def _(call: Call) -> Answer:
    return said(text("This tool intentionally returns an error for testing"), is_error=True)


# === Before the answer ===


@tool("test_tool_with_progress", "Reports progress in three steps")
async def _(call: Call) -> Answer:
    for done in (0, 50, 100):
        await call.session.report_progress(done, 100)
        await anyio.sleep(0.05)
    return words("The work is done.")


async def log(call: Call, line: str) -> None:
    await call.session.send_log_message("info", line, related_request_id=call.request_id)


@tool("test_tool_with_logging", "Logs three messages")
async def _(call: Call) -> Answer:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await log(call, line)
        await anyio.sleep(0.05)
    return words("Three messages were logged.")


@tool("test_logging_tool", "Logs, if the request allows it")
async def _(call: Call) -> Answer:
    await log(call, "The tool runs")
    return words("The tool ran.")


# === Questions in mid-call, as servers of the older versions put them ===


@tool(
    "test_sampling",
    "Asks the client's model",
    properties={"prompt": {"type": "string", "description": "What the model is asked"}},
    required=["prompt"],
)
async def _(call: Call) -> Answer:
    message = types.SamplingMessage(role="user", content=text(call.arguments["prompt"]))
    answer = await call.session.create_message([message], max_tokens=100, related_request_id=call.request_id)
    return words(f"LLM response: {getattr(answer.content, 'text', answer.content)}")


async def asked(call: Call, message: str, properties: dict[str, Any], required: list[str]) -> str:
    schema = {"type": "object", "properties": properties} | ({"required": required} if required else {})
    answer = await call.session.elicit_form(message, schema, related_request_id=call.request_id)
    return f"action={answer.action}, content={json.dumps(answer.content)}"


@tool(
    "test_elicitation",
    "Asks the user for a name and an address",
    properties={"message": {"type": "string", "description": "What the user is shown"}},
    required=["message"],
)
async def _(call: Call) -> Answer:
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    return words(f"User response: {await asked(call, call.arguments['message'], fields, ['username', 'email'])}")


@tool("test_elicitation_sep1034_defaults", "Asks with a default for every type")
async def _(call: Call) -> Answer:
    fields = {
        "name": {"type": "string", "description": "A name", "default": "John Doe"},
        "age": {"type": "integer", "description": "An age in years", "default": 30},
        "score": {"type": "number", "description": "A score", "default": 95.5},
        "status": {
            "type": "string",
            "description": "A status",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "description": "Whether it was checked", "default": True},
    }
    return words(f"Elicitation completed: {await asked(call, 'Please check these values', fields, [])}")


@tool("test_elicitation_sep1330_enums", "Asks with every form of choice")
async def _(call: Call) -> Answer:
    def titled(noun: str) -> list[dict[str, str]]:
        return [{"const": f"value{n}", "title": f"{nth} {noun}"} for n, nth in ((1, "First"), (2, "Second"), (3, "Third"))]

    fields = {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": titled("option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option one", "Option two", "Option three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("choice")}},
    }
    return words(f"Elicitation completed: {await asked(call, 'Please choose', fields, [])}")


# === Questions that end the call, as the newest version puts them ===


def form(message: str, name: str, kind: str = "string") -> types.ElicitRequest:
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(prompt: str, most: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=text(prompt))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=most))


def ask(questions: dict[str, Any], state: str | None = None) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=questions, request_state=state)


def answered(call: Call, key: str, kind: type) -> Any:
    """The client's answer, if it has the shape of one."""
    answer = (call.answers or {}).get(key)
    return answer if isinstance(answer, kind) else None


def filled(call: Call, key: str, name: str) -> Any:
    """A field of a form, if it was filled in."""
    answer = answered(call, key, types.ElicitResult)
    return (answer.content or {}).get(name) if answer is not None and answer.action == "accept" else None


NAME = {"user_name": form("What is your name?", "name")}


@tool("test_input_required_result_elicitation", "Asks for a name and greets")
async def _(call: Call) -> Answer:
    name = filled(call, "user_name", "name")
    return words(f"Hello, {name}!") if name else ask(NAME)


@tool("test_streaming_elicitation", "Asks on a stream that is already open")
async def _(call: Call) -> Answer:
    await call.session.report_progress(1, 2)
    agrees = filled(call, "consent", "agree")
    return ask({"consent": form("Do you agree?", "agree", "boolean")}) if agrees is None else words(f"Agreed: {agrees}")


@tool("test_input_required_result_sampling", "Asks the model for a capital")
async def _(call: Call) -> Answer:
    answer = answered(call, "capital_question", types.CreateMessageResult)
    if answer is None:
        return ask({"capital_question": sample("What is the capital of France?", 100)})
    return words(getattr(answer.content, "text", ""))


@tool("test_input_required_result_list_roots", "Asks for the client's roots")
async def _(call: Call) -> Answer:
    answer = answered(call, "client_roots", types.ListRootsResult)
    if answer is None:
        return ask({"client_roots": types.ListRootsRequest()})
    return words(f"Roots: {', '.join(str(root.uri) for root in answer.roots)}")


def confirm(call: Call, done: str) -> Answer:
    agreed = call.state == done and filled(call, "confirm", "ok") is not None
    return words(done) if agreed else ask({"confirm": form("Please confirm", "ok", "boolean")}, done)


@tool("test_input_required_result_request_state", "Asks once and wants its state back")
async def _(call: Call) -> Answer:
    return confirm(call, "state-ok")


@tool("test_input_required_result_tampered_state", "Refuses state that was changed")
async def _(call: Call) -> Answer:
    return confirm(call, "The state came back unchanged.")


@tool("test_input_required_result_multiple_inputs", "Asks three things at once")
async def _(call: Call) -> Answer:
    questions = NAME | {"greeting": sample("Generate a greeting", 50), "client_roots": types.ListRootsRequest()}
    if call.state is None or not all(key in (call.answers or {}) for key in questions):
        return ask(questions, "all")
    return words(f"{filled(call, 'user_name', 'name')} was greeted.")


@tool("test_input_required_result_multi_round", "Asks two things, one after the other")
async def _(call: Call) -> Answer:
    if call.state is None:
        return ask({"step1": form("Step 1: What is your name?", "name")}, json.dumps({"step": 1}))
    state = json.loads(call.state)
    name = state.get("name") or filled(call, "step1", "name")
    color = filled(call, "step2", "color")
    if name and color:
        return words(f"{name} likes {color}.")
    return ask({"step2": form("Step 2: What is your favorite color?", "color")}, json.dumps({"step": 2, "name": name}))


@tool("test_input_required_result_capabilities", "Asks only what the client can answer")
async def _(call: Call) -> Answer:
    able = call.session.client_capabilities or types.ClientCapabilities()
    questions: dict[str, Any] = {}
    if able.elicitation is not None:
        questions |= NAME
    if able.sampling is not None:
        questions["greeting"] = sample("Generate a greeting", 50)
    if able.roots is not None:
        questions["client_roots"] = types.ListRootsRequest()
    missing = {key: question for key, question in questions.items() if key not in (call.answers or {})}
    return ask(missing) if missing else words("Everything was answered.")


@tool("test_missing_capability", "Cannot work for a client without sampling")
async def _(call: Call) -> Answer:
    able = call.session.client_capabilities
    if able is None or able.sampling is None:
        wanted = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_CAPABILITY, "the client did not declare `sampling`", wanted)
    return words("The client declared sampling.")


# === What the scenarios of the tasks extension call, of a server that has no tasks ===


@tool("greet", "Greets at once", properties={"name": {"type": "string", "description": "Who is greeted"}})
async def _(call: Call) -> Answer:
    return words(f"Hello, {call.arguments.get('name', 'nobody')}!")


@tool(
    "slow_compute",
    "Computes without taking the time",
    properties={"seconds": {"type": "integer", "description": "How long others would take"}},
)
async def _(call: Call) -> Answer:
    return words("Computed.")


@tool(
    "confirm_delete",
    "Pretends to delete, and asks nobody",
    properties={"filename": {"type": "string", "description": "What would be deleted"}},
)
async def _(call: Call) -> Answer:
    return words("Nothing was deleted.")


# === Schemas and changes ===


@tool(
    "json_schema_2020_12_tool",
    "Has a schema with many keywords of 2020-12",
    schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)
async def _(call: Call) -> Answer:
    return words("Contact noted.")


@tool(
    "test_routed_parameters",
    "Repeats a marked argument as a header",
    properties={"region": {"type": "string", "description": "Where to go", "x-mcp-header": "Region"}},
)
async def _(call: Call) -> Answer:
    return words(f"Routed to {call.arguments.get('region', 'nowhere')}")


async def passing(call: Call) -> Answer:
    return words("This tool came with a change of the list.")


@tool("test_trigger_tool_change", "Changes the list of tools")
async def _(call: Call) -> Answer:
    if TOOLS.pop("test_passing_tool", None) is None:
        TOOLS["test_passing_tool"] = Tool("Here only until the next change", passing)
    await call.announce(ToolsListChanged())
    return words("The list of tools has changed.")


@tool("test_trigger_prompt_change", "Changes the list of prompts")
async def _(call: Call) -> Answer:
    if PASSING_PROMPT in PROMPTS:
        PROMPTS.remove(PASSING_PROMPT)
    else:
        PROMPTS.append(PASSING_PROMPT)
    await call.announce(PromptsListChanged())
    return words("The list of prompts has changed.")


# === Prompts ===


def messages(*content: types.ContentBlock) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=block) for block in content])


def argument(name: str, description: str) -> types.PromptArgument:
    return types.PromptArgument(name=name, description=description, required=True)


PROMPTS = [
    types.Prompt(name="test_simple_prompt", description="A prompt without arguments"),
    types.Prompt(
        name="test_prompt_with_arguments",
        description="A prompt with two arguments",
        arguments=[argument("arg1", "First of two"), argument("arg2", "Second of two")],
    ),
    types.Prompt(
        name="test_prompt_with_embedded_resource",
        description="A prompt around a resource",
        arguments=[argument("resourceUri", "URI to embed")],
    ),
    types.Prompt(name="test_prompt_with_image", description="A prompt around a picture"),
    types.Prompt(name="test_input_required_result_prompt", description="A prompt that asks for its context"),
]


PASSING_PROMPT = types.Prompt(name="test_passing_prompt", description="Here only until the next change")


def prompt(name: str, call: Call) -> PromptAnswer:
    given = call.arguments
    match name:
        case "test_simple_prompt":
            return messages(text("This is a simple prompt for testing."))
        case "test_prompt_with_arguments":
            return messages(text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"))
        case "test_prompt_with_embedded_resource":
            about = embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
            return messages(about, text("Please process the embedded resource above."))
        case "test_passing_prompt":
            return messages(text("This prompt came with a change of the list."))
        case "test_prompt_with_image":
            return messages(image(), text("Please analyze the image above."))
        case "test_input_required_result_prompt":
            context = filled(call, "user_context", "context")
            question = {"user_context": form("What context should the prompt use?", "context")}
            return messages(text(f"Work with this context: {context}")) if context else ask(question)
    raise MCPError(types.INVALID_PARAMS, f"no prompt `{name}`")


def completed(typed: str) -> types.Completion:
    known = ["paris", "park", "party"]
    values = [word for word in known if word.startswith(typed)]
    return types.Completion(values=values, total=len(values), has_more=False)


# === Resources ===

RESOURCES = [
    types.Resource(
        uri="test://static-text", name="static-text", description="A text that never changes", mime_type="text/plain"
    ),
    types.Resource(
        uri="test://static-binary", name="static-binary", description="A picture that never changes", mime_type="image/png"
    ),
    types.Resource(
        uri="test://watched-resource", name="watched-resource", description="A text to subscribe to", mime_type="text/plain"
    ),
]

TEMPLATES = [
    types.ResourceTemplate(
        uri_template="test://template/{id}/data",
        name="template-data",
        description="A document for any id",
        mime_type="application/json",
    )
]


def from_template(id: str) -> str:
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def read(uri: str) -> types.ReadResourceResult:
    def one(mime: str, words: str) -> types.ReadResourceResult:
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=mime, text=words)])

    match uri:
        case "test://static-text":
            return one("text/plain", "This is the content of the static text resource.")
        case "test://static-binary":
            blob = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
            return types.ReadResourceResult(contents=[blob])
        case "test://watched-resource":
            return one("text/plain", "This is the content of the watched resource.")
    id = uri.removeprefix("test://template/").removesuffix("/data")
    if uri == f"test://template/{id}/data" and id and "/" not in id:
        return one("application/json", from_template(id))
    raise MCPError(types.INVALID_PARAMS, f"no resource `{uri}`", {"uri": uri})
