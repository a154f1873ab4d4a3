// The TypeScript SDK of the second generation where calls wait for a person, in either era.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

import { readArguments, tell } from "./approval-story.mjs";
import { finish } from "./report.mjs";

const MODERN = "2026-07-28";
/** Results of methods that the SDK does not know, as they come. */
const ANYTHING = { "~standard": { version: 1, vendor: "highwater", validate: (value) => ({ value }) } };

const options = readArguments(process.argv.slice(2));

async function connect(endpoint, capabilities, token, answer) {
  const mode = options.era === "modern" ? { pin: MODERN } : "legacy";
  const client = new Client({ name: "typescript-2", version: "1.0.0" }, { capabilities, versionNegotiation: { mode } });
  const completed = [];
  if (capabilities.elicitation) {
    client.setRequestHandler("elicitation/create", ({ params }) => answer(params));
    client.setNotificationHandler("notifications/elicitation/complete", ({ params }) => { completed.push(params.elicitationId); });
  }
  const headers = { Authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit: { headers } }));
  return {
    completed,
    call: (name, args, _meta) => client.callTool({ name, arguments: args, _meta }),
    request: (method, params) => client.request({ method, params }, ANYTHING),
    close: () => client.close(),
  };
}

await tell(connect, options);
finish();
