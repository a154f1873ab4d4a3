# A server with every bad habit that the tests need, one message a line. It writes down what it saw.
# Usage: server.py HABIT LOG

import json, os, signal, sys, threading, time

habit, log_path = sys.argv[1], sys.argv[2]
log = open(log_path, "a", buffering=1)
lock = threading.Lock()
answers = {}
answered = threading.Condition()


def write(text):
    with lock:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def send(**message):
    write(json.dumps({"jsonrpc": "2.0", **message}))


def say(method, **params):
    send(method=method, params=params)


def ask(id, method, params):
    send(id=id, method=method, params=params)
    with answered:
        answered.wait_for(lambda: id in answers)
        return answers.pop(id)


def text(text):
    result = {"content": [{"type": "text", "text": text}]}
    if habit.startswith("modern"):
        result["resultType"] = "complete"
    return result


def call(id, params):
    name, arguments = params["name"], params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")
    if name == "echo":
        send(id=id, result=text(arguments.get("text", "")))
    elif name == "refuse":
        send(id=id, error={"code": -32602, "message": "not like this"})
    elif name == "progress":
        for step in range(arguments["steps"]):
            say("notifications/progress", progressToken=token, progress=step)
            time.sleep(arguments.get("pause", 0))
        send(id=id, result=text("done"))
    elif name == "log":
        say("notifications/message", level="info", data="working")
        say("notifications/x/later", novelty=True)
        send(id=id, result=text("done"))
    elif name == "ask":
        answer = ask("q" + str(id), arguments.get("method", "elicitation/create"), {"message": "well?"})
        send(id=id, result=text(json.dumps({k: answer[k] for k in ("result", "error") if k in answer})))
    elif name == "ask_and_withdraw":
        send(id=id, method="elicitation/create", params={"message": "well?"})
        say("notifications/cancelled", requestId=id)
        send(id=id, result=text("never mind"))
    elif name == "ping":
        answer = ask(id, "ping", {})
        send(id=id, result=text(json.dumps(answer.get("result"))))
    elif name == "wait":
        while not os.path.exists(arguments["file"]):
            time.sleep(0.005)
        send(id=id, result=text("done"))
    elif name == "hang":
        pass
    elif name == "crash":
        sys.stderr.write("about to crash\n")
        os._exit(3)
    elif name == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "last_words":
        send(id=id, result=text("farewell"))
        os._exit(0)
    elif name == "garbage":
        write("Starting up...\n\n{\"half\": \n[1,2,3]\n\x1b[31mred\x1b[0m")
        write(json.dumps({"jsonrpc": "2.0", "id": 99999, "result": {}}))
        write(json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}}))
        send(id=id, result=text("done"))
    elif name == "twice":
        write('{"jsonrpc":"2.0","id":%d,"result":{"content":[],"content":[]}}' % id)
    elif name == "big":
        chunk, count = "x" * (1 << 20), arguments["mebibytes"]
        head, tail = '{"jsonrpc":"2.0","id":%d,"result":{"content":"' % id, '"}}'
        if arguments.get("id_last"):
            head, tail = '{"result":{"content":"', '"},"jsonrpc":"2.0","id":%d}' % id
        if arguments.get("id_hidden"):
            head, tail = '{"result":{"content":"', '"},"id":%d,"jsonrpc":"2.0"}' % id
        with lock:
            sys.stdout.write(head)
            for _ in range(count):
                sys.stdout.write(chunk)
            sys.stdout.write(tail + "\n")
            sys.stdout.flush()
    elif name == "flood":
        for number in range(arguments["lines"]):
            sys.stderr.write("grumble %d %s\n" % (number, "y" * 100))
        sys.stderr.flush()
        send(id=id, result=text("done"))
    elif name == "changed":
        for kind in ("tools", "prompts", "resources"):
            say("notifications/%s/list_changed" % kind)
        say("notifications/resources/updated", uri="test://a")
        send(id=id, result=text("done"))
    elif name == "environment":
        send(id=id, result=text(json.dumps(dict(os.environ))))
    elif name == "end_listening":
        say("notifications/cancelled", requestId=arguments["request"])
        send(id=id, result=text("done"))


CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "logging": {},
}


def discover(id):
    if habit == "modern":
        send(id=id, result={"resultType": "complete", "supportedVersions": ["2026-07-28"],
             "capabilities": CAPABILITIES, "instructions": "be kind", "ttlMs": 0, "cacheScope": "private",
             "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "t", "version": "1"}}})
    elif habit == "modern_slow":
        # Answered when the client has lost its patience.
        unanswered.append(id)
    elif habit == "other_versions":
        send(id=id, error={"code": -32022, "message": "no", "data": {"supported": ["2031-01-01"]}})
    elif habit == "offers_legacy":
        send(id=id, error={"code": -32022, "message": "no", "data": {"supported": ["2025-06-18"]}})
    elif habit == "dies_of_probe":
        os._exit(9)
    elif habit != "silent_at_probe":
        send(id=id, error={"code": -32602, "message": "Invalid request parameters"})


probed = False
unanswered = []
if habit == "exits_at_start":
    sys.stderr.write("fatal: no API key given\n")
    sys.exit(4)
if habit == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if habit == "says_nothing":
    sys.stdin.read()
    sys.exit(0)

for line in sys.stdin:
    log.write(line)
    message = json.loads(line)
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method is None:
        with answered:
            answers[id] = message
            answered.notify_all()
    elif method == "server/discover":
        probed = True
        discover(id)
    elif method == "initialize":
        for slow in unanswered:
            send(id=slow, result={"resultType": "complete", "supportedVersions": ["2026-07-28"],
                 "capabilities": {"tools": {}}})
        if habit.startswith("modern") or (habit == "spoilt_by_probe" and probed):
            send(id=id, error={"code": -32601, "message": "no such method"})
        elif habit == "future":
            send(id=id, result={"protocolVersion": "2031-01-01", "capabilities": {}})
        else:
            send(id=id, result={"protocolVersion": "2025-06-18", "capabilities": CAPABILITIES,
                 "serverInfo": {"name": "t", "version": "1"}, "instructions": "be kind"})
    elif method == "tools/list":
        page = int(params.get("cursor", "0"))
        result = {"tools": [{"name": "tool%d" % page, "inputSchema": {"type": "object"}}]}
        if page < 2:
            result["nextCursor"] = str(page + 1)
        send(id=id, result=result)
    elif method == "subscriptions/listen":
        say("notifications/subscriptions/acknowledged", notifications=params["notifications"],
            _meta={"io.modelcontextprotocol/subscriptionId": id})
    elif method == "tools/call" and params["name"] == "block":
        # Nothing else is read meanwhile.
        while not os.path.exists(params["arguments"]["file"]):
            time.sleep(0.005)
        send(id=id, result=text("done"))
    elif method == "tools/call":
        threading.Thread(target=call, args=(id, params), daemon=True).start()
    elif method == "notifications/initialized" and habit == "deaf" and not os.path.exists(log_path + ".deaf"):
        os.close(0)
        open(log_path + ".deaf", "w").close()
        time.sleep(600)
    elif id is not None:
        send(id=id, result={})

if habit == "stubborn":
    while True:
        time.sleep(60)
