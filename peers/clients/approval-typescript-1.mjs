// The TypeScript SDK of the first generation (2025-11-25) where calls wait for a person.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitationCompleteNotificationSchema, ElicitRequestSchema, ResultSchema } from "@modelcontextprotocol/sdk/types.js";

import { readArguments, tell } from "./approval-story.mjs";
import { finish } from "./report.mjs";

const options = readArguments(process.argv.slice(2));

async function connect(endpoint, capabilities, token, answer) {
  const client = new Client({ name: "typescript-1", version: "1.0.0" }, { capabilities });
  const completed = [];
  if (capabilities.elicitation) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params));
    client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => { completed.push(params.elicitationId); });
  }
  const headers = { Authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit: { headers } }));
  return {
    completed,
    call: (name, args, _meta) => client.callTool({ name, arguments: args, _meta }),
    request: (method, params) => client.request({ method, params }, ResultSchema),
    close: () => client.close(),
  };
}

await tell(connect, options);
finish();
