// What a client does with four real servers behind one gateway, written once for both
// generations of the TypeScript SDK. `peer` hides where their calls differ.

import { check, contains, equal, failure, until } from "./report.mjs";

const LISTED = {
  everything: ["echo", "get-sum", "get-structured-content", "get-tiny-image", "trigger-long-running-operation"],
  filesystem: ["read_text_file", "write_file", "list_directory", "list_allowed_directories"],
  git: ["git_status", "git_log", "git_commit"],
  time: ["get_current_time", "convert_time"],
};

/** Runs the whole story on a connected peer. */
export async function tell(peer, options) {
  const stage = { peer, options, name: (server, part) => (options.plain ? part : `${server}__${part}`) };
  stage.call = async (server, tool, args = {}, extra = {}) =>
    peer.client.callTool({ name: stage.name(server, tool), arguments: args }, extra);
  const parts = { everything: everything, filesystem: filesystem, git: git, time: time };
  await check("tools/list has every server's tools", () => listsTools(stage));
  for (const server of options.servers) await parts[server](stage);
}

async function listsTools({ peer, options, name }) {
  // A list does not wait for a server that starts slowly: that one is in a later list.
  const { tools, nextCursor } = await until(async () => {
    const list = await peer.client.listTools();
    return options.servers.every((server) => list.tools.some((tool) => tool.name === name(server, LISTED[server][0]))) && list;
  }, "a list with tools of every server");
  equal(nextCursor, undefined, "nextCursor");
  const listed = new Map(tools.map((tool) => [tool.name, tool]));
  equal(listed.size, tools.length, "number of different names");
  for (const server of options.servers) {
    for (const tool of LISTED[server]) {
      if (!listed.has(name(server, tool))) throw new Error(`\`${name(server, tool)}\` is not listed among ${[...listed.keys()]}`);
    }
  }
  for (const tool of listed.keys()) {
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(tool)) throw new Error(`\`${tool}\` is not a name that clients accept`);
  }
}

const text = (result) => result.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");

async function everything(stage) {
  const { peer, call, name } = stage;
  const { client } = peer;

  await check("everything: a definition arrives whole", async () => {
    const { tools } = await client.listTools();
    const echo = tools.find((tool) => tool.name === name("everything", "echo"));
    equal(echo.title, "Echo Tool", "title");
    equal(echo.annotations?.readOnlyHint, true, "readOnlyHint");
    equal(echo.inputSchema.required, ["message"], "required");
  });
  await check("everything: a call answers", async () => {
    const result = await call("everything", "echo", { message: "höher als die Flut ≈ 🌊" });
    equal(result.content, [{ type: "text", text: "Echo: höher als die Flut ≈ 🌊" }], "content");
  });
  await check("everything: numbers are numbers", async () => {
    equal(text(await call("everything", "get-sum", { a: 40, b: 2.5 })), "The sum of 40 and 2.5 is 42.5.", "text");
  });
  await check("everything: structured content fits its schema", async () => {
    const result = await call("everything", "get-structured-content", { location: "Chicago" });
    equal(result.structuredContent.temperature, 36, "temperature");
    equal(JSON.parse(text(result)).conditions, "Light rain / drizzle", "conditions");
  });
  await check("everything: an image arrives", async () => {
    const image = (await call("everything", "get-tiny-image")).content.find((block) => block.type === "image");
    equal(image.mimeType, "image/png", "mimeType");
    contains(Buffer.from(image.data, "base64").subarray(1, 4).toString(), "PNG", "signature");
  });
  await check("everything: wrong arguments are the server's to refuse", async () => {
    const result = await call("everything", "get-sum", { a: "many", b: 2 });
    equal(result.isError, true, "isError");
    contains(text(result), "expected number", "text");
  });
  await check("everything: an unknown tool is refused", async () => {
    // A server may say so in a result, a gateway that knows the list says it in an error.
    const answer = await call("everything", "no-such-tool").catch((error) => ({ isError: true, content: [{ type: "text", text: error.message }] }));
    equal(answer.isError, true, "isError");
    contains(text(answer), "no-such-tool", "text");
  });
  await check("everything: progress comes in order", async () => {
    const seen = [];
    const result = await call("everything", "trigger-long-running-operation", { duration: 0.3, steps: 3 }, peer.withProgress((step) => seen.push([step.progress, step.total])));
    contains(text(result), "Steps: 3", "text");
    // These SDKs lose a step that they read together with the answer, so the last one may be missing.
    if (seen.length < 2 || seen.length > 3) throw new Error(`there were ${seen.length} steps, expected 3`);
    equal(seen, [[1, 3], [2, 3], [3, 3]].slice(0, seen.length), "progress");
  });
  await check("everything: a cancelled call ends and the next one works", async () => {
    const stop = new AbortController();
    const started = call("everything", "trigger-long-running-operation", { duration: 20, steps: 200 }, {
      ...peer.withProgress(() => stop.abort(new Error("enough"))),
      signal: stop.signal,
    });
    contains((await failure(started, "the cancelled call")).message, "enough", "error");
    contains(text(await call("everything", "echo", { message: "still here" })), "still here", "text");
  });
  await check("everything: calls at once keep their answers apart", async () => {
    const words = Array.from({ length: 20 }, (_, at) => `word ${at}`);
    const answers = await Promise.all(words.map((message) => call("everything", "echo", { message })));
    equal(answers.map(text), words.map((word) => `Echo: ${word}`), "answers");
  });
  await resources(stage);
  await prompts(stage);
  await questions(stage);
}

async function resources({ peer, call, options }) {
  const { client } = peer;
  const listed = async () => (await client.listResources()).resources.find((resource) => resource.name.endsWith("features.md"));

  await check("everything: a listed resource can be read", async () => {
    const resource = await listed();
    const { contents } = await client.readResource({ uri: resource.uri });
    equal(contents[0].uri, resource.uri, "uri");
    equal(contents[0].mimeType, "text/markdown", "mimeType");
    contains(contents[0].text, "trigger-long-running-operation", "text");
  });
  await check("everything: a resource made from a template can be read", async () => {
    const { resourceTemplates } = await client.listResourceTemplates();
    const template = resourceTemplates.find((each) => each.uriTemplate.includes("resource/dynamic/text"));
    const { contents } = await client.readResource({ uri: template.uriTemplate.replace("{resourceId}", "7") });
    contains(contents[0].text, "Resource 7: This is a plaintext resource", "text");
  });
  await check("everything: a link in a result can be read", async () => {
    const links = (await call("everything", "get-resource-links", { count: 2 })).content.filter((block) => block.type === "resource_link");
    equal(links.length, 2, "number of links");
    const { contents } = await client.readResource({ uri: links[1].uri });
    contains(contents[0].text, "Resource 2", "text");
  });
  await check("everything: an unknown resource is an error", async () => {
    const known = (await listed()).uri;
    await failure(client.readResource({ uri: known.replace("features.md", "nothing.md") }), "the read");
  });
  await check("everything: a subscriber hears of an update", async () => {
    const { uri } = await listed();
    const updated = new Promise((resolve) => peer.onUpdated(resolve));
    await peer.subscribe(uri);
    contains(text(await call("everything", "toggle-subscriber-updates")), "Started", "text");
    equal(await updated, uri, "uri");
    contains(text(await call("everything", "toggle-subscriber-updates")), "Stopped", "text");
    await peer.unsubscribe(uri);
  });
}

async function prompts({ peer, name }) {
  const { client } = peer;
  await check("everything: prompts are listed and can be had", async () => {
    const { prompts: listed } = await client.listPrompts();
    if (!listed.some((prompt) => prompt.name === name("everything", "args-prompt"))) {
      throw new Error(`\`${name("everything", "args-prompt")}\` is not listed among ${listed.map((each) => each.name)}`);
    }
    const { messages } = await client.getPrompt({ name: name("everything", "args-prompt"), arguments: { city: "Hamburg", state: "HH" } });
    equal(messages[0].content.text, "What's weather in Hamburg, HH?", "text");
  });
  await check("everything: an argument is completed", async () => {
    const { completion } = await client.complete({
      ref: { type: "ref/prompt", name: name("everything", "completable-prompt") },
      argument: { name: "name", value: "" },
      context: { arguments: { department: "Sales" } },
    });
    equal(completion.values, ["David", "Eve", "Frank"], "values");
  });
  await check("everything: a missing prompt argument is an error", async () => {
    await failure(client.getPrompt({ name: name("everything", "args-prompt"), arguments: {} }), "the prompt");
  });
}

async function questions({ peer, call }) {
  await check("everything: an elicitation in mid-call is answered", async () => {
    peer.answers.elicitation = (params) => {
      contains(params.message, "Please provide inputs", "message");
      equal(params.requestedSchema.properties.integer.maximum, 100, "maximum");
      return { action: "accept", content: { name: "Ada Lovelace", check: true, email: "ada@example.com", integer: 7 } };
    };
    const answer = text(await call("everything", "trigger-elicitation-request"));
    contains(answer, "Ada Lovelace", "text");
  });
  await check("everything: a declined elicitation is told", async () => {
    peer.answers.elicitation = () => ({ action: "decline" });
    contains(text(await call("everything", "trigger-elicitation-request")), "declined", "text");
  });
  await check("everything: a sampling request in mid-call is answered", async () => {
    peer.answers.sampling = (params) => {
      equal(params.maxTokens, 33, "maxTokens");
      contains(JSON.stringify(params.messages), "count the boats", "messages");
      return { role: "assistant", model: "harbour-1", content: { type: "text", text: "Seven boats." } };
    };
    const answer = text(await call("everything", "trigger-sampling-request", { prompt: "count the boats", maxTokens: 33 }));
    contains(answer, "Seven boats.", "text");
    contains(answer, "harbour-1", "text");
  });
}

async function filesystem({ call, options }) {
  const file = `${options.folder}/from-${options.stdio ? "stdio" : "http"}-${process.pid}.txt`;
  await check("filesystem: what is written can be read", async () => {
    await call("filesystem", "write_file", { path: file, content: "Zeile 1\nZeile 2\n" });
    equal(text(await call("filesystem", "read_text_file", { path: file })), "Zeile 1\nZeile 2\n", "text");
  });
  await check("filesystem: the folder is listed", async () => {
    contains(text(await call("filesystem", "list_directory", { path: options.folder })), file.split("/").at(-1), "text");
  });
  await check("filesystem: a path outside is the server's to refuse", async () => {
    const result = await call("filesystem", "read_text_file", { path: "/etc/hostname" });
    equal(result.isError, true, "isError");
    contains(text(result), "Access denied", "text");
  });
}

async function git({ call, options }) {
  await check("git: the log is read", async () => {
    contains(text(await call("git", "git_log", { repo_path: options.repository, max_count: 1 })), "Lay the keel", "text");
  });
  await check("git: the status is read", async () => {
    contains(text(await call("git", "git_status", { repo_path: options.repository })), "On branch", "text");
  });
  await check("git: a folder without a repository is the server's to refuse", async () => {
    const result = await call("git", "git_status", { repo_path: `${options.repository}/nowhere` });
    equal(result.isError, true, "isError");
  });
}

async function time({ call }) {
  await check("time: a time is converted", async () => {
    const result = await call("time", "convert_time", { source_timezone: "UTC", time: "12:00", target_timezone: "Asia/Tokyo" });
    equal(JSON.parse(text(result)).time_difference, "+9.0h", "time_difference");
  });
  await check("time: an unknown zone is the server's to refuse", async () => {
    const result = await call("time", "get_current_time", { timezone: "Nowhere/Atlantis" });
    equal(result.isError, true, "isError");
    contains(text(result), "Atlantis", "text");
  });
}
