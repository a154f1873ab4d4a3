// The conformance fixture on the TypeScript SDK 2, in both eras: `typescript_server.mjs --http` or `--stdio`.
//
// Over HTTP it takes a port of the system's choice and prints `listening URL`. Legacy clients get a session each, modern
// ones a server per request, as the SDK has it.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";

import {
  ProtocolError, Server, WebStandardStreamableHTTPServerTransport, acceptedContent, createMcpHandler, createRequestStateCodec,
  hostHeaderValidationResponse, inputRequired, isInitializeRequest, isLegacyRequest, localhostAllowedHostnames,
  localhostAllowedOrigins, originValidationResponse,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const INVALID_PARAMS = -32602;
const MISSING_CAPABILITY = -32021;
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const states = createRequestStateCodec({ key: randomUUID() + randomUUID() });

// === Content ===

const text = (words) => ({ type: "text", text: words });
const image = { type: "image", data: PNG, mimeType: "image/png" };
const embedded = (uri, mimeType, words) => ({ type: "resource", resource: { uri, mimeType, text: words } });
const said = (...content) => ({ content });
const words = (line) => said(text(line));

// === Questions ===

const form = (message, properties, required) => ({ message, requestedSchema: { type: "object", properties, ...(required && { required }) } });
const field = (message, name, type = "string") => inputRequired.elicit(form(message, { [name]: { type } }, [name]));
const sample = (prompt, maxTokens) => inputRequired.createMessage({ messages: [{ role: "user", content: text(prompt) }], maxTokens });
const filled = ({ mcpReq }, key, name) => acceptedContent(mcpReq.inputResponses, key)?.[name];
const answered = ({ mcpReq }, key) => mcpReq.inputResponses?.[key];
const ask = (inputRequests, requestState) => inputRequired({ inputRequests, ...(requestState && { requestState }) });
const userName = () => field("What is your name?", "name");

async function told(context, message, properties, required) {
  const { action, content } = await context.mcpReq.elicitInput({ mode: "form", ...form(message, properties, required) });
  return `action=${action}, content=${JSON.stringify(content)}`;
}

async function confirmed(context, done) {
  const agreed = context.mcpReq.requestState() === done && filled(context, "confirm", "ok") !== undefined;
  return agreed ? words(done) : ask({ confirm: field("Please confirm", "ok", "boolean") }, await states.mint(done));
}

const log = (context, line) => context.mcpReq.log("info", line);

async function progress({ mcpReq }, done, total) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken !== undefined) await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: done, total } });
}

const titled = (noun) => ["First", "Second", "Third"].map((nth, index) => ({ const: `value${index + 1}`, title: `${nth} ${noun}` }));

const string = (description, more) => ({ type: "string", description, ...more });

/** Name, description, what it does and its properties; the rest of the schema where there is more to say. */
const TOOLS = [
  ["test_simple_text", "Answers with one text", () => words("This is a simple text response for testing.")],
  ["test_image_content", "Answers with one picture", () => said(image)],
  ["test_audio_content", "Answers with one sound", () => said({ type: "audio", data: WAV, mimeType: "audio/wav" })],
  ["test_embedded_resource", "Answers with one embedded resource", () =>
    said(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))],
  ["test_multiple_content_types", "Answers with three kinds of content", () => said(
    text("Multiple content types test:"), image,
    embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
  )],
  ["test_error_handling", "Runs and fails", () => ({ ...words("This tool intentionally returns an error for testing"), isError: true })],
  ["test_tool_with_progress", "Reports progress in three steps", async (context) => {
    for (const done of [0, 50, 100]) {
      await progress(context, done, 100);
      await pause(50);
    }
    return words("The work is done.");
  }],
  ["test_tool_with_logging", "Logs three messages", async (context) => {
    for (const line of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await log(context, line);
      await pause(50);
    }
    return words("Three messages were logged.");
  }],
  ["test_logging_tool", "Logs, if the request allows it", async (context) => {
    await log(context, "The tool runs");
    return words("The tool ran.");
  }],
  ["test_sampling", "Asks the client's model", async (context, { prompt }) => {
    const messages = [{ role: "user", content: text(prompt) }];
    const { content } = await context.mcpReq.requestSampling({ messages, maxTokens: 100 });
    return words(`LLM response: ${content.text}`);
  }, { prompt: string("What the model is asked") }, { required: ["prompt"] }],
  ["test_elicitation", "Asks the user for a name and an address", async (context, { message }) => {
    const fields = { username: string("User's response"), email: string("User's email address") };
    return words(`User response: ${await told(context, message, fields, ["username", "email"])}`);
  }, { message: string("What the user is shown") }, { required: ["message"] }],
  ["test_elicitation_sep1034_defaults", "Asks with a default for every type", async (context) => {
    const fields = {
      name: string("A name", { default: "John Doe" }),
      age: { type: "integer", description: "An age in years", default: 30 },
      score: { type: "number", description: "A score", default: 95.5 },
      status: string("A status", { enum: ["active", "inactive", "pending"], default: "active" }),
      verified: { type: "boolean", description: "Whether it was checked", default: true },
    };
    return words(`Elicitation completed: ${await told(context, "Please check these values", fields)}`);
  }],
  ["test_elicitation_sep1330_enums", "Asks with every form of choice", async (context) => {
    const options = ["option1", "option2", "option3"];
    const fields = {
      untitledSingle: { type: "string", enum: options },
      titledSingle: { type: "string", oneOf: titled("option") },
      legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option one", "Option two", "Option three"] },
      untitledMulti: { type: "array", items: { type: "string", enum: options } },
      titledMulti: { type: "array", items: { anyOf: titled("choice") } },
    };
    return words(`Elicitation completed: ${await told(context, "Please choose", fields)}`);
  }],
  ["test_input_required_result_elicitation", "Asks for a name and greets", (context) => {
    const name = filled(context, "user_name", "name");
    return name ? words(`Hello, ${name}!`) : ask({ user_name: userName() });
  }],
  ["test_streaming_elicitation", "Asks on a stream that is already open", async (context) => {
    await progress(context, 1, 2);
    const agrees = filled(context, "consent", "agree");
    return agrees === undefined ? ask({ consent: field("Do you agree?", "agree", "boolean") }) : words(`Agreed: ${agrees}`);
  }],
  ["test_input_required_result_sampling", "Asks the model for a capital", (context) => {
    const answer = answered(context, "capital_question");
    return answer ? words(answer.content?.text ?? "") : ask({ capital_question: sample("What is the capital of France?", 100) });
  }],
  ["test_input_required_result_list_roots", "Asks for the client's roots", (context) => {
    const answer = answered(context, "client_roots");
    return answer ? words(`Roots: ${answer.roots?.map((root) => root.uri)}`) : ask({ client_roots: inputRequired.listRoots() });
  }],
  ["test_input_required_result_request_state", "Asks once and wants its state back", (context) => confirmed(context, "state-ok")],
  ["test_input_required_result_tampered_state", "Refuses state that was changed", (context) => confirmed(context, "The state came back unchanged.")],
  ["test_input_required_result_multiple_inputs", "Asks three things at once", async (context) => {
    const questions = { user_name: userName(), greeting: sample("Generate a greeting", 50), client_roots: inputRequired.listRoots() };
    const complete = context.mcpReq.requestState() === "all" && Object.keys(questions).every((key) => answered(context, key));
    return complete ? words(`${filled(context, "user_name", "name")} was greeted.`) : ask(questions, await states.mint("all"));
  }],
  ["test_input_required_result_multi_round", "Asks two things, one after the other", async (context) => {
    const state = context.mcpReq.requestState();
    if (!state) return ask({ step1: field("Step 1: What is your name?", "name") }, await states.mint({ step: 1 }));
    const name = state.name ?? filled(context, "step1", "name");
    const color = filled(context, "step2", "color");
    if (name && color) return words(`${name} likes ${color}.`);
    return ask({ step2: field("Step 2: What is your favorite color?", "color") }, await states.mint({ step: 2, name }));
  }],
  ["test_input_required_result_capabilities", "Asks only what the client can answer", (context, _given, able) => {
    const questions = {
      ...(able?.elicitation && { user_name: userName() }),
      ...(able?.sampling && { greeting: sample("Generate a greeting", 50) }),
      ...(able?.roots && { client_roots: inputRequired.listRoots() }),
    };
    const missing = Object.entries(questions).filter(([key]) => !answered(context, key));
    return missing.length ? ask(Object.fromEntries(missing)) : words("Everything was answered.");
  }],
  ["test_missing_capability", "Cannot work for a client without sampling", (_context, _given, able) => {
    if (able?.sampling) return words("The client declared sampling.");
    throw new ProtocolError(MISSING_CAPABILITY, "the client did not declare `sampling`", { requiredCapabilities: { sampling: {} } });
  }],
  // What the scenarios of the tasks extension call; this server has no tasks.
  ["greet", "Greets at once", (_context, { name }) => words(`Hello, ${name ?? "nobody"}!`), { name: string("Who is greeted") }],
  ["slow_compute", "Computes without taking the time", () => words("Computed."),
    { seconds: { type: "integer", description: "How long others would take" } }],
  ["confirm_delete", "Pretends to delete, and asks nobody", () => words("Nothing was deleted."), { filename: string("What would be deleted") }],
  ["json_schema_2020_12_tool", "Has a schema with many keywords of 2020-12", () => words("Contact noted."), {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  }, {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $defs: { address: { $anchor: "addressDef", type: "object", properties: { street: { type: "string" }, city: { type: "string" } } } },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
    then: { required: ["phone"] },
    else: { required: ["email"] },
    additionalProperties: false,
  }],
  ["test_routed_parameters", "Repeats a marked argument as a header", (_context, { region }) => words(`Routed to ${region ?? "nowhere"}`),
    { region: string("Where to go", { "x-mcp-header": "Region" }) }],
  ["test_trigger_tool_change", "Changes the list of tools", (context) => {
    toggle(TOOLS, PASSING_TOOL);
    return changed(context, "tools");
  }],
  ["test_trigger_prompt_change", "Changes the list of prompts", (context) => {
    toggle(PROMPTS, PASSING_PROMPT);
    return changed(context, "prompts");
  }],
];

const PASSING_TOOL = ["test_passing_tool", "Here only until the next change", () => words("This tool came with a change of the list.")];
const PASSING_PROMPT = { name: "test_passing_prompt", description: "Here only until the next change" };

/** Adds an entry, or takes it away if it is there. */
function toggle(list, entry) {
  const place = list.indexOf(entry);
  if (place < 0) list.push(entry);
  else list.splice(place, 1);
}

// === Prompts and resources ===

const messages = (...content) => ({ messages: content.map((block) => ({ role: "user", content: block })) });
const argument = (name, description) => ({ name, description, required: true });

const PROMPTS = [
  { name: "test_simple_prompt", description: "A prompt without arguments" },
  { name: "test_prompt_with_arguments", description: "A prompt with two arguments", arguments: [argument("arg1", "First of two"), argument("arg2", "Second of two")] },
  { name: "test_prompt_with_embedded_resource", description: "A prompt around a resource", arguments: [argument("resourceUri", "URI to embed")] },
  { name: "test_prompt_with_image", description: "A prompt around a picture" },
  { name: "test_input_required_result_prompt", description: "A prompt that asks for its context" },
];

function prompt({ name, arguments: given = {} }, context) {
  switch (name) {
    case "test_simple_prompt": return messages(text("This is a simple prompt for testing."));
    case "test_prompt_with_arguments": return messages(text(`Prompt with arguments: arg1='${given.arg1}', arg2='${given.arg2}'`));
    case "test_prompt_with_embedded_resource": return messages(
      embedded(given.resourceUri, "text/plain", "Embedded resource content for testing."),
      text("Please process the embedded resource above."),
    );
    case "test_passing_prompt": return messages(text("This prompt came with a change of the list."));
    case "test_prompt_with_image": return messages(image, text("Please analyze the image above."));
    case "test_input_required_result_prompt": {
      const about = filled(context, "user_context", "context");
      if (about) return messages(text(`Work with this context: ${about}`));
      return ask({ user_context: field("What context should the prompt use?", "context") });
    }
    default: throw new ProtocolError(INVALID_PARAMS, `no prompt \`${name}\``);
  }
}

const RESOURCES = [
  { uri: "test://static-text", name: "static-text", description: "A text that never changes", mimeType: "text/plain" },
  { uri: "test://static-binary", name: "static-binary", description: "A picture that never changes", mimeType: "image/png" },
  { uri: "test://watched-resource", name: "watched-resource", description: "A text to subscribe to", mimeType: "text/plain" },
];
const TEMPLATES = [{ uriTemplate: "test://template/{id}/data", name: "template-data", description: "A document for any id", mimeType: "application/json" }];

function read(uri) {
  const one = (content) => ({ contents: [{ uri, ...content }] });
  if (uri === "test://static-text") return one({ mimeType: "text/plain", text: "This is the content of the static text resource." });
  if (uri === "test://static-binary") return one({ mimeType: "image/png", blob: PNG });
  if (uri === "test://watched-resource") return one({ mimeType: "text/plain", text: "This is the content of the watched resource." });
  const id = uri.match(/^test:\/\/template\/([^/]+)\/data$/)?.[1];
  if (id) return one({ mimeType: "application/json", text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) });
  throw new ProtocolError(INVALID_PARAMS, `no resource \`${uri}\``, { uri });
}

// === The server ===

/** Tells whoever listens: over HTTP all modern clients, else whom this server is connected to. */
let notifier;
async function changed(context, list) {
  if (notifier) notifier[`${list}Changed`]();
  else await context.mcpReq.notify({ method: `notifications/${list}/list_changed` });
  return words(`The list of ${list} has changed.`);
}

function fixture() {
  const lists = { listChanged: true };
  const capabilities = { tools: lists, prompts: lists, resources: { ...lists, subscribe: true }, logging: {}, completions: {} };
  const server = new Server({ name: "typescript-fixture", version: "1.0.0" }, { capabilities, requestState: { verify: states.verify } });
  const handle = (method, answer) => server.setRequestHandler(method, ({ params }, context) => answer(params ?? {}, context));
  handle("tools/list", () => ({
    tools: TOOLS.map(([name, description, , properties = {}, more]) => ({ name, description, inputSchema: { type: "object", properties, ...more } })),
  }));
  handle("tools/call", ({ name, arguments: given = {} }, context) => {
    const tool = TOOLS.find(([known]) => known === name);
    if (!tool) throw new ProtocolError(INVALID_PARAMS, `no tool \`${name}\``);
    const able = context.mcpReq.envelope?.["io.modelcontextprotocol/clientCapabilities"] ?? server.getClientCapabilities();
    return tool[2](context, given, able);
  });
  handle("prompts/list", () => ({ prompts: PROMPTS }));
  handle("prompts/get", prompt);
  handle("resources/list", () => ({ resources: RESOURCES }));
  handle("resources/templates/list", () => ({ resourceTemplates: TEMPLATES }));
  handle("resources/read", ({ uri }) => read(uri));
  handle("resources/subscribe", () => ({}));
  handle("resources/unsubscribe", () => ({}));
  handle("completion/complete", ({ argument: { value } }) => {
    const values = ["paris", "park", "party"].filter((word) => word.startsWith(value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
  return server;
}

// === HTTP ===

const sessions = new Map();

async function legacy(request) {
  const id = request.headers.get("mcp-session-id");
  if (sessions.has(id)) return sessions.get(id).handleRequest(request);
  const begins = request.method === "POST" && isInitializeRequest(await request.clone().json().catch(() => undefined));
  if (id || !begins) return new Response("no such session", { status: id ? 404 : 400 });
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (session) => sessions.set(session, transport),
    onsessionclosed: (session) => sessions.delete(session),
  });
  await fixture().connect(transport);
  return transport.handleRequest(request);
}

function serveHttp() {
  const modern = createMcpHandler(fixture, { legacy: "reject" });
  notifier = modern.notify;
  const answer = async (request) =>
    hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
    originValidationResponse(request, localhostAllowedOrigins()) ??
    ((await isLegacyRequest(request)) ? legacy(request) : modern.fetch(request));
  const http = createServer(async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.on("close", () => gone.abort());
    const { method, url, headers } = incoming;
    const body = method === "POST" ? { body: Readable.toWeb(incoming), duplex: "half" } : {};
    try {
      const response = await answer(new Request(`http://${headers.host}${url}`, { method, headers, signal: gone.signal, ...body }));
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.flushHeaders();
      for await (const chunk of response.body ?? []) outgoing.write(chunk);
    } catch (error) {
      console.error(error);
      if (!outgoing.headersSent) outgoing.writeHead(500);
    }
    outgoing.end();
  });
  http.listen(0, "127.0.0.1", () => console.log(`listening http://127.0.0.1:${http.address().port}/mcp`));
}

if (process.argv.includes("--stdio")) serveStdio(fixture);
else serveHttp();
