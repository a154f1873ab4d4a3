// What a person does with the calls of each kind of client: agrees, declines, or agrees after the client
// has gone. The server's journal says what ran.

import { readFileSync } from "node:fs";

import { Operator, Person } from "./approval-person.mjs";
import { Relay } from "./relay.mjs";
import { check, contains, equal, failure, until } from "./report.mjs";

/** Takes a passkey. */
const DELETE = "files__delete";
/** Takes a button. */
const WRITE = "files__write";
/** Takes nothing. */
const LOOK = "files__look";
/** Where everything of SEP-2672 is in `_meta` and among the capabilities. */
const VERIFIED = "io.modelcontextprotocol/verified-approval";
const REJECTED = -32001;

/** What a client of each kind says that it can do. */
export const CAPABILITIES = {
  url: { elicitation: { url: {} } },
  form: { elicitation: { form: {} } },
  none: {},
  native: { extensions: { [VERIFIED]: {} } },
};

/** Reads `--era E --http URL --operator TOKEN --journal FILE`. */
export function readArguments(argv) {
  const options = {};
  for (let at = 0; at < argv.length; at += 2) options[argv[at].replace(/^--/, "")] = argv[at + 1];
  for (const name of ["era", "http", "operator", "journal"]) {
    if (!options[name]) throw new Error(`\`--${name}\` is missing`);
  }
  return options;
}

/**
 * Tells the story of every kind. `connect(endpoint, capabilities, token, answer)` gives a connected client with
 * `call(name, arguments, meta)`, `request(method, params)`, `close()` and, in the legacy era, `completed`:
 * the elicitations that it heard are complete. `answer(params)` answers its elicitations.
 */
export async function tell(connect, options) {
  const operator = new Operator(options.http, options.operator);
  let person;
  await check("a person enrolls a passkey on the page", async () => { person = await Person.enrolled(operator); });
  if (!person) return;
  // At once: each kind is an agent of its own.
  await Promise.all(Object.entries({ url, form, none, native }).map(async ([kind, story]) => {
    const token = await operator.secret(kind);
    /** A client and what it was asked; `answer` may be replaced. */
    const arrive = async (endpoint = options.http) => {
      const peer = { asked: [], answer: () => ({ action: "accept" }) };
      const client = await connect(endpoint, CAPABILITIES[kind], token, (params) => {
        peer.asked.push(params);
        return peer.answer(params);
      });
      return Object.assign(peer, client);
    };
    await story({ arrive, operator, person, options, token, ran: (path) => ran(options.journal, path), check: (name, body) => check(`${kind}: ${name}`, body) });
  }));
}

// --- a client that sends its person to the page ---

async function url({ arrive, operator, person, options, ran, check }) {
  for (const [tool, answered] of [[DELETE, "sign"], [WRITE, "confirm"]]) {
    const path = `url-${tool}`;
    await check(`${tool} runs once when the person has answered on the page`, async () => {
      const client = await arrive();
      const call = client.call(tool, { path });
      await until(() => client.asked.length > 0, "the elicitation");
      const [{ mode, url: page, message, elicitationId }] = client.asked;
      equal(mode, "url", "mode");
      contains(message, `${tool} on files`, "message");
      const id = idOf(page);
      equal(id, (await operator.pending(path)).id, "the request of the page");
      await looked(client);
      equal(ran(path), 0, "calls that ran because the page was opened");
      await person[answered](id);
      done(await call);
      equal([client.asked.length, ran(path)], [1, 1], "questions and calls that ran");
      if (options.era === "legacy") {
        equal(elicitationId, id, "elicitationId");
        await until(() => client.completed.includes(id), "the notification that it is complete");
      }
      await client.close();
    });
  }
  await check("a call that the person declines on the page does not run, and is not asked again", async () => {
    const path = "url-declined";
    const client = await arrive();
    const call = client.call(DELETE, { path });
    await person.decline((await operator.pending(path)).id);
    refused(await call);
    refused(await client.call(DELETE, { path }));
    equal([client.asked.length, ran(path)], [1, 0], "questions and calls that ran");
    await client.close();
  });
  await check("a call whose page the person does not open does not run", async () => {
    const path = "url-unopened";
    const client = await arrive();
    client.answer = () => ({ action: "decline" });
    refused(await client.call(DELETE, { path }));
    equal(ran(path), 0, "calls that ran");
    await client.close();
  });
  await disconnected({ arrive, operator, person, options, ran, check }, "url-gone");
}

// --- a client that shows forms ---

async function form({ arrive, operator, person, options, token, ran, check }) {
  await check("a call runs once when the person ticks the box", async () => {
    const path = "form-yes";
    const client = await arrive();
    client.answer = () => {
      equal(ran(path), 0, "calls that ran before the answer");
      return { action: "accept", content: { allow: true } };
    };
    done(await client.call(WRITE, { path }));
    contains(client.asked[0].message, `\`${WRITE}\` of server \`files\``, "message");
    equal([client.asked.length, ran(path)], [1, 1], "questions and calls that ran");
    await client.close();
  });
  for (const [name, no] of [["declines", { action: "decline" }], ["leaves the box empty", { action: "accept", content: { allow: false } }]]) {
    await check(`a call does not run when the person ${name}`, async () => {
      const path = `form-${name}`;
      const client = await arrive();
      client.answer = () => no;
      refused(await client.call(WRITE, { path }));
      equal([client.asked.length, ran(path)], [1, 0], "questions and calls that ran");
      await client.close();
    });
  }
  await check("no form serves a passkey", async () => {
    const path = "form-passkey";
    const client = await arrive();
    client.answer = () => ({ action: "accept", content: { allow: true } });
    const call = client.call(DELETE, { path });
    const { id } = await operator.pending(path);
    equal([client.asked.length, ran(path)], [0, 0], "forms and calls that ran");
    await person.sign(id);
    done(await call);
    equal(ran(path), 1, "calls that ran");
    await client.close();
  });
  await check("a call whose client goes away with the form open does not run; the identical one asks anew", async () => {
    const path = "form-gone";
    const relay = await Relay.before(options.http);
    const gone = await arrive(relay.url);
    let tick;
    gone.answer = () => new Promise((resolve) => { tick = () => resolve({ action: "accept", content: { allow: true } }); });
    const lost = gone.call(WRITE, { path }).catch(() => undefined);
    await until(() => tick, "the form");
    await gone.close();
    tick();
    await lost;
    await relay.gone(path);
    const client = await arrive();
    await looked(client);
    equal(ran(path), 0, "calls that ran");
    client.answer = () => ({ action: "accept", content: { allow: true } });
    done(await client.call(WRITE, { path }));
    equal([client.asked.length, ran(path)], [1, 1], "questions and calls that ran");
    await client.close();
  });
  if (options.era === "legacy") {
    await check("an answer that comes after the stream of its call broke runs nothing", () => answeredTooLate({ arrive, options, token, ran }));
  }
}

/** Without an SDK: those close everything at once, or come back for the stream. */
async function answeredTooLate({ arrive, options, token, ran }) {
  const path = "form-broken";
  const relay = await Relay.before(options.http);
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
  const post = (message, signal) => fetch(relay.url, { method: "POST", headers, signal, body: JSON.stringify({ jsonrpc: "2.0", ...message }) });
  const params = { protocolVersion: "2025-11-25", capabilities: CAPABILITIES.form, clientInfo: { name: "bare", version: "1.0.0" } };
  const hello = await post({ id: 1, method: "initialize", params });
  headers["Mcp-Session-Id"] = hello.headers.get("mcp-session-id");
  headers["MCP-Protocol-Version"] = "2025-11-25";
  await hello.text();
  await post({ method: "notifications/initialized" });
  const line = new AbortController();
  const call = await post({ id: 2, method: "tools/call", params: { name: WRITE, arguments: { path } } }, line.signal);
  const [reader, decoder] = [call.body.getReader(), new TextDecoder()];
  let heard = "";
  let question;
  while (!question) {
    const { value, done: ended } = await reader.read();
    if (ended) throw new Error(`nobody was asked: ${heard}`);
    heard += decoder.decode(value, { stream: true });
    question = heard.match(/^data: ?(\{.*"elicitation\/create".*\})\r?\n/m)?.[1];
  }
  line.abort();
  await relay.gone(path);
  const answer = await post({ id: JSON.parse(question).id, result: { action: "accept", content: { allow: true } } });
  equal(answer.status, 202, "status");
  await looked(await arrive());
  equal(ran(path), 0, "calls that ran without a caller");
}

// --- a client that can do nothing of it ---

async function none({ arrive, operator, person, options, ran, check }) {
  for (const [tool, answered] of [[DELETE, "sign"], [WRITE, "confirm"]]) {
    await check(`${tool} is held and runs once when the person has answered`, async () => {
      const path = `none-${tool}`;
      const client = await arrive();
      const call = client.call(tool, { path });
      const { id } = await operator.pending(path);
      equal(ran(path), 0, "calls that ran before the answer");
      await person[answered](id);
      done(await call);
      equal(ran(path), 1, "calls that ran");
      await client.close();
    });
  }
  await check("a call that was held long enough says where to answer, and the identical one joins and runs once", async () => {
    const path = "none-late";
    const client = await arrive();
    const first = await client.call(DELETE, { path });
    equal(first.isError, true, "isError");
    const page = first._meta?.["dev.highwater/approval"];
    equal(page?.state, "pending", "state");
    contains(text(first), page.url, "text");
    contains(text(first), "call again with identical arguments", "text");
    const retry = client.call(DELETE, { path });
    const { id } = await operator.pending(path);
    equal(id, idOf(page.url), "the request that the retry waits for");
    await looked(client);
    equal(ran(path), 0, "calls that ran before the answer");
    await person.sign(id);
    done(await retry);
    equal(ran(path), 1, "calls that ran");
    await client.close();
  });
  await check("a call that the person declines does not run, now or when it comes again", async () => {
    const path = "none-declined";
    const client = await arrive();
    const call = client.call(DELETE, { path });
    await person.decline((await operator.pending(path)).id);
    refused(await call);
    refused(await client.call(DELETE, { path }));
    equal(ran(path), 0, "calls that ran");
    await client.close();
  });
  await disconnected({ arrive, operator, person, options, ran, check }, "none-gone");
}

async function disconnected({ arrive, operator, person, options, ran, check }, path) {
  await check("a held call whose client has gone does not run when it is approved; the identical one does, once", async () => {
    const relay = await Relay.before(options.http);
    const gone = await arrive(relay.url);
    const lost = gone.call(DELETE, { path }).catch(() => undefined);
    const { id } = await operator.pending(path);
    if (options.era === "modern" && path.startsWith("url")) {
      await until(() => relay.sent("inputResponses"), "the second round of the call");
    }
    await gone.close();
    await lost;
    await relay.gone(path);
    await person.sign(id);
    const client = await arrive();
    await looked(client);
    equal(ran(path), 0, "calls that ran without a caller");
    done(await client.call(DELETE, { path }));
    equal([client.asked.length, ran(path)], [0, 1], "questions and calls that ran");
    await client.close();
  });
}

// --- a client that lets its person sign by itself ---

async function native({ arrive, person, ran, check }) {
  const signed = async (client, path) => {
    const challenge = await client.request("approval/challenge/create", { toolName: DELETE, arguments: { path } });
    const response = person.passkey.get(challenge.requestOptions);
    return { [VERIFIED]: { method: "webauthn", challengeId: challenge.challengeId, response } };
  };
  const reason = async (promise) => {
    const error = await failure(promise, "the call");
    equal(error.code, REJECTED, "code");
    return error.data;
  };
  await check("a signed call runs, and the same signature never again", async () => {
    const path = "native-yes";
    const client = await arrive();
    const evidence = await signed(client, path);
    equal(ran(path), 0, "calls that ran before the signature was sent");
    done(await client.call(DELETE, { path }, evidence));
    equal((await reason(client.call(DELETE, { path }, evidence))).reason, "challenge_consumed", "reason");
    equal(ran(path), 1, "calls that ran");
    await client.close();
  });
  await check("a signature is for the arguments it was made for", async () => {
    const client = await arrive();
    const evidence = await signed(client, "native-small");
    await reason(client.call(DELETE, { path: "native-large" }, evidence));
    equal([ran("native-small"), ran("native-large")], [0, 0], "calls that ran");
    await client.close();
  });
  await check("a call that its person does not sign does not run, nor when they decline on the page", async () => {
    const path = "native-no";
    const client = await arrive();
    const told = await reason(client.call(DELETE, { path }));
    equal(told.reason, "missing_evidence", "reason");
    await person.decline(idOf(told.approvalUrl));
    refused(await client.call(DELETE, { path }));
    equal(ran(path), 0, "calls that ran");
    await client.close();
  });
  await check("a call whose client goes away after the signature does not run; the signed call of the next one does, once", async () => {
    const path = "native-gone";
    const gone = await arrive();
    const evidence = await signed(gone, path);
    await gone.close();
    const client = await arrive();
    await looked(client);
    equal(ran(path), 0, "calls that ran without a caller");
    done(await client.call(DELETE, { path }, evidence));
    equal(ran(path), 1, "calls that ran");
    await client.close();
  });
}

// --- what is seen ---

/** What a call brought that needs nobody: whatever was to reach the server before has reached it. */
async function looked(client) {
  done(await client.call(LOOK, {}));
}

/** How often the server was called with this path. */
function ran(journal, path) {
  const lines = readFileSync(journal, "utf8").split("\n");
  return lines.filter((line) => line.includes("tools/call") && line.includes(path)).length;
}

function done(result) {
  if (result.isError) throw new Error(`the call was refused: ${text(result)}`);
  equal(text(result), "done", "text");
}

function refused(result) {
  equal(result.isError, true, "isError");
  contains(text(result), "did not approve", "text");
}

function text(result) {
  return result.content.map((block) => block.text).join("\n");
}

function idOf(page) {
  return page.split("/").pop();
}
