// The TypeScript SDK of the first generation: a legacy client over Streamable HTTP or stdio.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CreateMessageRequestSchema, ElicitRequestSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

import { check, contains, equal, finish, readArguments } from "./report.mjs";
import { tell } from "./story.mjs";

const options = readArguments(process.argv.slice(2));
const answers = {};
const client = new Client({ name: "typescript-1", version: "1.0.0" }, { capabilities: { elicitation: { form: {} }, sampling: {} } });
client.setRequestHandler(ElicitRequestSchema, ({ params }) => answers.elicitation(params));
client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => answers.sampling(params));

let updated = () => {};
client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => updated(params.uri));

const peer = {
  client: {
    callTool: (params, extra) => client.callTool(params, undefined, extra),
    listTools: () => client.listTools(),
    listResources: () => client.listResources(),
    listResourceTemplates: () => client.listResourceTemplates(),
    readResource: (params) => client.readResource(params),
    listPrompts: () => client.listPrompts(),
    getPrompt: (params) => client.getPrompt(params),
    complete: (params) => client.complete(params),
  },
  answers,
  withProgress: (onprogress) => ({ onprogress }),
  onUpdated: (handler) => { updated = handler; },
  subscribe: (uri) => client.subscribeResource({ uri }),
  unsubscribe: (uri) => client.unsubscribeResource({ uri }),
};

function transport() {
  if (options.stdio) {
    const [command, ...args] = options.command;
    return new StdioClientTransport({ command, args, stderr: "inherit" });
  }
  const headers = options.token ? { Authorization: `Bearer ${options.token}` } : {};
  return new StreamableHTTPClientTransport(new URL(options.http), { requestInit: { headers } });
}

const chosen = transport();
await check("connect with an initialize handshake", async () => {
  await client.connect(chosen);
  if (!client.getServerCapabilities()?.tools) throw new Error("the server declares no tools");
});
await check("ping is answered", () => client.ping());
await tell(peer, options);
if (options.servers.includes("everything")) {
  await check("the log level can be set", () => client.setLoggingLevel("warning"));
}
if (options.http && !options.plain) {
  await check("the session can be ended", async () => {
    if (!chosen.sessionId) throw new Error("the server gave no session id");
    await chosen.terminateSession();
    equal(chosen.sessionId, undefined, "session id");
  });
}
if (options.token) {
  await check("a wrong token is refused", async () => {
    const answer = await fetch(options.http, { method: "POST", headers: { Authorization: "Bearer wrong", "Content-Type": "application/json", Accept: "application/json, text/event-stream" }, body: "{}" });
    equal(answer.status, 401, "status");
    contains(answer.headers.get("www-authenticate") ?? "", "Bearer", "www-authenticate");
  });
}
finish();
