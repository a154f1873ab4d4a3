// The client side of the conformance suite, played by the gateway: the suite's scenario server becomes
// the gateway's one upstream, and this script, in front of it, makes use of everything it lists.
//
// `conformance-driver.mjs --highwater PROGRAM --folder DIR URL`; with `--direct` it talks to the scenario
// server itself, which shows what a client alone scores.

import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const MODERN = "2026-07-28";

const words = process.argv.slice(2);
const url = words.pop();
const option = (name) => (words.includes(name) ? words[words.indexOf(name) + 1] : undefined);
const modern = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === MODERN;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

const client = new Client(
  { name: "conformance-driver", version: "1.0.0" },
  {
    capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
    versionNegotiation: { mode: modern ? { pin: MODERN } : "legacy" },
  },
);
client.setRequestHandler("elicitation/create", ({ params }) => ({ action: "accept", content: filled(params.requestedSchema, true) }));
client.setRequestHandler("sampling/createMessage", () => ({ role: "assistant", model: "none", content: { type: "text", text: "Yes." } }));
client.setRequestHandler("roots/list", () => ({ roots: [] }));

await client.connect(await transport());
const able = client.getServerCapabilities() ?? {};
if (able.tools) await useTools();
if (able.resources) {
  for (const { uri } of (await client.listResources()).resources) await attempt(`read ${uri}`, client.readResource({ uri }));
}
if (able.prompts) {
  for (const { name } of (await client.listPrompts()).prompts) await attempt(`prompt ${name}`, client.getPrompt({ name }));
}
await client.close();
process.exit(0);

async function transport() {
  if (words.includes("--direct")) return new StreamableHTTPClientTransport(new URL(url));
  const folder = await mkdtemp(join(option("--folder"), "site-"));
  const config = join(folder, "highwater.yaml");
  await writeFile(config, JSON.stringify({ prefix: "never", flow: "observe", quarantine: false, servers: { peer: { url } } }));
  const args = ["stdio", "--config", config, "--data-dir", join(folder, "data")];
  return new StdioClientTransport({ command: option("--highwater"), args, stderr: "inherit" });
}

/** Calls what the scenario asks for by name, or else every listed tool, all at once. */
async function useTools() {
  const { tools } = await client.listTools();
  const focal = tools.find((tool) => tool.name !== "json_schema_echo")?.inputSchema;
  const calls = context.toolCalls ?? tools.map((tool) => ({
    name: tool.name,
    arguments: tool.name === "json_schema_echo" ? { schema: focal } : filled(tool.inputSchema, false),
  }));
  await Promise.all(calls.map((call) => attempt(`call ${call.name}`, client.callTool(call))));
}

/** An object that fits a schema: defaults where there are any, something of the type for the rest. */
function filled(schema, everything) {
  const samples = { string: "harbour", number: 2.5, integer: 3, boolean: true, array: [], object: {} };
  const wanted = Object.entries(schema.properties ?? {}).filter(([name]) => everything || schema.required?.includes(name));
  return Object.fromEntries(wanted.map(([name, property]) => [name, property.default ?? property.enum?.[0] ?? samples[property.type] ?? "harbour"]));
}

/** A refusal may be the right answer; the suite judges what reached it. */
async function attempt(what, promise) {
  try {
    console.log(`${what}: ${JSON.stringify(await promise)}`);
  } catch (error) {
    console.log(`${what} failed: ${error.message}`);
  }
}
