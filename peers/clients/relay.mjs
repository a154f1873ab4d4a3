// A way to the gateway that tells when the gateway has noticed that a client has gone: connections are passed on, and
// one that its client has closed is closed towards the gateway, until the gateway closes it as well.

import { once } from "node:events";
import { connect, createServer } from "node:net";

import { until } from "./report.mjs";

export class Relay {
  /** A relay whose `url` leads to this endpoint. */
  static async before(endpoint) {
    const relay = new Relay(new URL(endpoint));
    relay.server.listen(0, "127.0.0.1");
    await once(relay.server, "listening");
    relay.url = endpoint.replace(relay.gateway.host, `127.0.0.1:${relay.server.address().port}`);
    return relay;
  }

  constructor(gateway) {
    this.gateway = gateway;
    this.lines = [];
    this.server = createServer((near) => this.#pass(near));
  }

  /** Whether a client has sent this. */
  sent(part) {
    return this.lines.some((line) => line.sent.includes(part));
  }

  /** Waits until a client has closed every connection on which it sent this, and the gateway has closed them as well. */
  async gone(part) {
    const concerned = this.lines.filter((line) => line.sent.includes(part));
    await until(() => concerned.every((line) => line.left), "the client's end");
    await Promise.all(concerned.map((line) => line.closed));
  }

  #pass(near) {
    const far = connect({ host: this.gateway.hostname, port: this.gateway.port, allowHalfOpen: true });
    const line = { sent: "", left: false, closed: new Promise((resolve) => { far.on("close", resolve); }) };
    this.lines.push(line);
    near.on("data", (part) => {
      line.sent += part.toString("utf8");
      far.write(part);
    });
    near.on("close", () => {
      line.left = true;
      far.end();
    });
    far.on("data", (part) => { if (!near.destroyed) near.write(part); });
    far.on("end", () => {
      near.end();
      far.end();
    });
    // A side that breaks off is closed.
    near.on("error", () => near.destroy());
    far.on("error", () => near.destroy());
  }
}
