"""A client of a gateway that starts for the second time: it gets its tools from what was approved, before the servers have
answered. Prints `ok NAME` or `not ok NAME: why` for each check, and how long it took."""

import argparse
import json
import time
import urllib.request

parser = argparse.ArgumentParser()
for name in ("http", "token", "operator"):
    parser.add_argument(f"--{name}", required=True)
parser.add_argument("--servers", required=True, help="names, with commas between them")
args = parser.parse_args()
expected = set(args.servers.split(","))


def fetch(url, token, message=None, session=None):
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    if session:
        headers["Mcp-Session-Id"] = session
    body = None
    if message is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=120) as answer:
        text = answer.read().decode()
        return answer.headers, json.loads(text) if text else None


def check(name, fits, why):
    print(f"ok {name}" if fits else f"not ok {name}: {why}", flush=True)


begun = time.monotonic()
hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "second", "version": "1"}}
headers, _ = fetch(args.http, args.token, {"id": 1, "method": "initialize", "params": hello})
session = headers["Mcp-Session-Id"]
_, listed = fetch(args.http, args.token, {"id": 2, "method": "tools/list", "params": {}}, session)
took = time.monotonic() - begun
_, servers = fetch(args.http.split("/mcp")[0] + "/api/v1/servers", args.operator)

offered = {tool["name"].split("__")[0] for tool in listed["result"]["tools"]}
check("every server is offered", offered == expected, f"only {sorted(offered)}")
states = {server["name"]: server["state"] for server in servers}
waiting = [name for name, state in states.items() if state != "up"]
check("before they have all started", waiting, f"all were up: {states}")
_, answer = fetch(args.http, args.token, {"id": 3, "method": "tools/call", "params": {
    "name": "time__get_current_time", "arguments": {"timezone": "UTC"}}}, session)
result = answer.get("result", {})
check("a call waits for its server", result and not result.get("isError"), json.dumps(answer)[:500])
print(f"# initialize and tools/list took {took * 1000:.0f} ms; not up by then: {', '.join(waiting) or 'none'}")
