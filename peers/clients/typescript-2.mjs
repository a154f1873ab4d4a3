// The TypeScript SDK of the second generation, as a modern client (2026-07-28) or a legacy one.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { check, equal, finish, readArguments } from "./report.mjs";
import { tell } from "./story.mjs";

const MODERN = "2026-07-28";

const options = readArguments(process.argv.slice(2));
const modern = options.era === "modern";
const answers = {};
const client = new Client(
  { name: "typescript-2", version: "1.0.0" },
  {
    capabilities: { elicitation: { form: {} }, sampling: {} },
    versionNegotiation: { mode: modern ? { pin: MODERN } : "legacy" },
  },
);
client.setRequestHandler("elicitation/create", ({ params }) => answers.elicitation(params));
client.setRequestHandler("sampling/createMessage", ({ params }) => answers.sampling(params));

let updated = () => {};
client.setNotificationHandler("notifications/resources/updated", ({ params }) => updated(params.uri));

let subscription;
const peer = {
  client,
  answers,
  withProgress: (onprogress) => ({ onprogress }),
  onUpdated: (handler) => { updated = handler; },
  subscribe: async (uri) => {
    if (modern) subscription = await client.listen({ resourceSubscriptions: [uri] });
    else await client.subscribeResource({ uri });
  },
  unsubscribe: async (uri) => {
    if (modern) await subscription.close();
    else await client.unsubscribeResource({ uri });
  },
};

function transport() {
  if (options.stdio) {
    const [command, ...args] = options.command;
    return new StdioClientTransport({ command, args, stderr: "inherit" });
  }
  const headers = options.token ? { Authorization: `Bearer ${options.token}` } : {};
  return new StreamableHTTPClientTransport(new URL(options.http), { requestInit: { headers } });
}

await check(`connect in the ${options.era} era`, async () => {
  await client.connect(transport());
  equal(client.getProtocolEra(), options.era, "era");
  if (!client.getServerCapabilities()?.tools) throw new Error("the server declares no tools");
});
await tell(peer, options);
await check("close", () => client.close());
finish();
