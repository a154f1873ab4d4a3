"""An MCP server over stdio that breaks off where it is told to, and notes what it really did.

A call brings in its arguments: `mark`, a name for it; `fault`, where the process ends; `times`, in how many of the
arrivals of this mark; `cut`, after how many bytes of the reply; `ms`, how long it takes. The journal is a file, because
the process does not last.
"""
import json
import os
import sys
import threading
import time

journal, era = sys.argv[1], sys.argv[2]
lock = threading.Lock()

TOOLS = [
    {"name": "look", "annotations": {"readOnlyHint": True}},
    {"name": "put", "annotations": {"readOnlyHint": False, "idempotentHint": True}},
    {"name": "add", "annotations": {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False}},
    {"name": "raw"},
]


def note(*words):
    with open(journal, "a") as file:
        file.write(" ".join(words) + "\n")


def arrivals(mark):
    with open(journal) as file:
        return file.read().split("\n").count("arrived " + mark)


def send(message, cut=None):
    line = (json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode()
    with lock:
        sys.stdout.buffer.write(line if cut is None else line[:cut])
        sys.stdout.buffer.flush()
        if cut is not None:
            os._exit(3)


def result(id, **members):
    if era == "modern":
        members = {"resultType": "complete", **members}
    return {"id": id, "result": members}


def call(id, params):
    arguments = params.get("arguments", {})
    mark, fault = arguments["mark"], arguments.get("fault")
    note("arrived", mark)
    if arrivals(mark) > arguments.get("times", 1):
        fault = None
    if fault == "read":
        os._exit(3)
    if fault == "progress":
        token = params["_meta"]["progressToken"]
        send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
    note("began", mark)
    time.sleep(arguments.get("ms", 0) / 1000)
    note("ended", mark)
    if fault in ("ran", "progress"):
        os._exit(3)
    if fault == "shut":
        os.close(1)
        time.sleep(5)
        os._exit(3)
    send(result(id, content=[{"type": "text", "text": "ran " + mark}]), arguments["cut"] if fault == "cut" else None)
    if fault == "after":
        os._exit(3)


note("started")
for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if id is None or method is None:
        continue
    if method == "server/discover" and era == "modern":
        send(result(id, supportedVersions=["2026-07-28"], capabilities={"tools": {}}, ttlMs=0, cacheScope="private"))
    elif method == "initialize" and era == "legacy":
        info = {"name": "faulty", "version": "1"}
        send(result(id, protocolVersion="2025-11-25", capabilities={"tools": {}}, serverInfo=info))
    elif method == "tools/list":
        tools = [{**tool, "inputSchema": {"type": "object"}} for tool in TOOLS]
        send(result(id, tools=tools, **({"ttlMs": 0, "cacheScope": "private"} if era == "modern" else {})))
    elif method == "tools/call":
        threading.Thread(target=call, args=(id, params), daemon=True).start()
    else:
        send({"id": id, "error": {"code": -32601, "message": "not here"}})
