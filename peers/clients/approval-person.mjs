// The person of the approval stories: a browser without a window in front of the gateway's own page,
// a passkey made of software, and the operator's view of what waits.

import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { request } from "node:http";

import { until } from "./report.mjs";

const RP_ID = "localhost";
/** The person was there, and the authenticator knows who. */
const UP_UV = 0x05;
const ATTESTED = 0x40;

/** One HTTP exchange with exactly these headers: `fetch` adds some that only a browser's own pages send. */
function exchange(url, method, headers, body) {
  return new Promise((resolve, reject) => {
    const asking = request(url, { method, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (part) => { text += part; });
      answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
      answer.on("error", reject);
    });
    asking.on("error", reject);
    asking.end(body);
  });
}

/** What the operator sees and may do, which includes no yes. */
export class Operator {
  constructor(endpoint, token) {
    this.base = endpoint.replace(/\/mcp$/, "/api/v1");
    this.token = token;
  }

  async ask(method, path, body) {
    const headers = { authorization: `Bearer ${this.token}`, "content-type": "application/json" };
    const answer = await exchange(`${this.base}${path}`, method, headers, body && JSON.stringify(body));
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text);
  }

  /** The secret of a token that the configuration names. */
  async secret(name) {
    return (await this.ask("POST", "/tokens", { name })).secret;
  }

  /** The request that waits for a call with this path among its arguments, once there is one. */
  pending(path) {
    return until(async () => {
      const waiting = await this.ask("GET", "/approvals");
      return waiting.find((one) => JSON.parse(one.arguments).path === path);
    }, `a question about ${path}`);
  }
}

/** An ES256 credential. */
export class Passkey {
  constructor(origin) {
    this.origin = origin;
    this.id = randomBytes(32);
    this.keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  }

  /** Answers the options of an enrollment, with no attestation. */
  create(options) {
    this.handle = options.user.id;
    const { x, y } = this.keys.publicKey.export({ format: "jwk" });
    const cose = Buffer.concat([
      Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]), Buffer.from(x, "base64url"),
      Buffer.from([0x22, 0x58, 0x20]), Buffer.from(y, "base64url"),
    ]);
    const length = Buffer.from([0, this.id.length]);
    const data = this.#data(UP_UV | ATTESTED, Buffer.concat([Buffer.alloc(16), length, this.id, cose]));
    // { fmt: "none", attStmt: {}, authData: bytes }, as CBOR.
    const attestation = Buffer.concat([
      Buffer.from("\u{63}fmt\u{64}none\u{67}attStmt"), Buffer.from([0xa0]), Buffer.from("\u{68}authData"), Buffer.from([0x58, data.length]), data,
    ]);
    const response = {
      clientDataJSON: this.#client("webauthn.create", options.challenge).toString("base64url"),
      attestationObject: Buffer.concat([Buffer.from([0xa3]), attestation]).toString("base64url"),
      transports: ["usb"],
    };
    return this.#credential(response);
  }

  /** Signs the options of a request. */
  get(options) {
    const mine = this.id.toString("base64url");
    if (!options.allowCredentials.some(({ id }) => id === mine)) throw new Error("another passkey is asked for");
    const client = this.#client("webauthn.get", options.challenge);
    const data = this.#data(UP_UV, Buffer.alloc(0));
    const message = Buffer.concat([data, createHash("sha256").update(client).digest()]);
    const signature = sign("sha256", message, this.keys.privateKey);
    const response = {
      clientDataJSON: client.toString("base64url"),
      authenticatorData: data.toString("base64url"),
      signature: signature.toString("base64url"),
      userHandle: this.handle,
    };
    return { ...this.#credential(response), authenticatorAttachment: "cross-platform" };
  }

  #credential(response) {
    const id = this.id.toString("base64url");
    return { id, rawId: id, type: "public-key", response, clientExtensionResults: {} };
  }

  #client(type, challenge) {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.origin, crossOrigin: false }));
  }

  #data(flags, behind) {
    // It does not count its uses, as passkeys that live on several devices do not.
    return Buffer.concat([createHash("sha256").update(RP_ID).digest(), Buffer.from([flags]), Buffer.alloc(4), behind]);
  }
}

/** Somebody who is signed in on the page and has a passkey. */
export class Person {
  static async enrolled(operator) {
    const window = await operator.ask("POST", "/approvals/enroll", { user: "owner" });
    const person = new Person(new URL(window.url).origin);
    await person.#signIn(operator.token);
    const begun = await person.post("/enroll/begin", { user: "owner" });
    const response = person.passkey.create(begun.options);
    const { id } = await person.post("/enroll/finish", { ticket: begun.ticket, response });
    await person.post("/enroll/code", { id, code: window.code });
    return person;
  }

  constructor(origin) {
    this.origin = origin;
    this.headers = {};
    this.passkey = new Passkey(origin);
  }

  /** Signs a request with the passkey. */
  async sign(id) {
    const asked = await this.post(`/approve/${id}/challenge`, {});
    const response = this.passkey.get(asked.requestOptions);
    return this.post(`/approve/${id}/assertion`, { challengeId: asked.challengeId, response });
  }

  /** Presses the button. */
  confirm(id) {
    return this.post(`/approve/${id}/confirm`, { remember: null });
  }

  decline(id) {
    return this.post(`/approve/${id}/decline`, {});
  }

  async post(path, body) {
    return (await this.#send(path, body)).said;
  }

  async #signIn(token) {
    const { headers, said } = await this.#send("/sign-in", { token });
    this.headers = { cookie: headers["set-cookie"][0].split(";")[0], "highwater-page-secret": said.secret };
  }

  async #send(path, body) {
    const { cookie } = this.headers;
    const document = await exchange(`${this.origin}/inbox`, "GET", { "sec-fetch-dest": "document", ...(cookie && { cookie }) });
    const csrf = document.text.match(/data-csrf="([^"]*)"/)?.[1];
    if (!csrf) throw new Error(`the page is ${document.status} ${document.text}`);
    const headers = { origin: this.origin, "sec-fetch-site": "same-origin", "content-type": "application/json", "highwater-csrf": csrf, ...this.headers };
    const answer = await exchange(`${this.origin}${path}`, "POST", headers, JSON.stringify(body));
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return { headers: answer.headers, said: JSON.parse(answer.text) };
  }
}
