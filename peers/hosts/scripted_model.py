"""A model that says what a script says, for hosts that are driven without one: Anthropic Messages and OpenAI Responses.

The user's text names a script as `(script NAME)`. What comes next is told by how many answers the conversation holds since
the last such text, so nothing is remembered from one request to the next. A step is a list of blocks, made by `say`
and `use`, or a function that makes them; a function may do something in the world first.
"""

import itertools
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAMED = re.compile(r"\(script ([a-z0-9-]+)\)")
MODEL_MADE = {"function_call", "custom_tool_call", "local_shell_call", "reasoning"}


def say(text):
    """A block of text."""
    return {"text": text}


def use(tool, arguments, namespace=None):
    """A call of a tool. Codex puts tools of MCP servers into namespaces."""
    return {"tool": tool, "input": arguments, "namespace": namespace}


class ScriptedModel:
    """Listens on loopback until the process ends."""

    def __init__(self):
        self.scripts = {}
        self.heard = []
        self.numbers = itertools.count(1)
        handler = type("Handler", (_Handler,), {"model": self})
        self.server = _Server(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, turns):
        """The blocks that come next. A turn is whose it is, `user` or `model`, and what it holds."""
        name, answered = None, 0
        for whose, content in turns:
            found = [named[1] for text in _texts(content) if (named := NAMED.search(text))] if whose == "user" else []
            if found:
                name, answered = found[-1], 0
            answered += whose == "model"
        steps = self.scripts.get(name, [])
        step = steps[answered] if answered < len(steps) else [say("done")]
        return step() if callable(step) else step

    def results(self, text):
        """What the model was told in any request, as far as it holds this text."""
        return [told for body in self.heard for told in _texts(body) if text in told]


def _texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Standard error is for what goes wrong. A host that ends takes its connections along."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *_):
        """Standard error is for what goes wrong."""

    def do_HEAD(self):
        self._send("application/json", b"")

    def do_GET(self):
        self._send("application/json", b'{"object":"list","data":[],"models":[]}')

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        path = self.path.split("?")[0]
        if path.endswith("/messages/count_tokens"):
            self._json({"input_tokens": 1})
        elif path.endswith("/messages"):
            self.model.heard.append(body)
            self._messages(body)
        elif path.endswith("/responses"):
            self.model.heard.append(body)
            self._responses(body)
        else:
            self._json({})

    def _messages(self, body):
        turns = [
            ("model" if turn.get("role") == "assistant" else "user", turn.get("content"))
            for turn in body.get("messages", [])
        ]
        number = next(self.model.numbers)
        content = []
        for index, block in enumerate(self.model.answer(turns)):
            if "tool" in block:
                content.append(
                    {
                        "type": "tool_use",
                        "id": f"toolu_{number:06}_{index}",
                        "name": block["tool"],
                        "input": block["input"],
                    }
                )
            else:
                content.append({"type": "text", "text": block["text"]})
        stop = "tool_use" if any(part["type"] == "tool_use" for part in content) else "end_turn"
        message = {
            "id": f"msg_{number:06}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "stop_sequence": None,
            "content": content,
            "stop_reason": stop,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        if not body.get("stream"):
            return self._json(message)
        events = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}]
        for index, part in enumerate(content):
            empty, delta = (
                ({**part, "text": ""}, {"type": "text_delta", "text": part["text"]})
                if part["type"] == "text"
                else ({**part, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(part["input"])})
            )
            events += [
                {"type": "content_block_start", "index": index, "content_block": empty},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        events += [
            {
                "type": "message_delta",
                "delta": {"stop_reason": stop, "stop_sequence": None},
                "usage": {"output_tokens": 1},
            },
            {"type": "message_stop"},
        ]
        return self._events(events)

    def _responses(self, body):
        turns = []
        for item in body.get("input", []):
            if item.get("role") == "assistant" or item.get("type") in MODEL_MADE:
                # One answer may be several items: a run of them counts once.
                turns += [("model", None)] if not turns or turns[-1][0] != "model" else []
            else:
                turns.append(("user" if item.get("role") == "user" else "host", item))
        number = next(self.model.numbers)
        output = []
        for index, block in enumerate(self.model.answer(turns)):
            if "tool" in block:
                item = {
                    "type": "function_call",
                    "id": f"fc_{number}_{index}",
                    "call_id": f"call_{number:06}_{index}",
                    "name": block["tool"],
                    "arguments": json.dumps(block["input"]),
                    "status": "completed",
                }
                output.append({**item, "namespace": block["namespace"]} if block["namespace"] else item)
            else:
                output.append(
                    {
                        "type": "message",
                        "id": f"msg_{number}_{index}",
                        "role": "assistant",
                        "status": "completed",
                        "content": [{"type": "output_text", "text": block["text"], "annotations": []}],
                    }
                )
        response = {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "completed",
            "model": body.get("model"),
            "output": output,
            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
        }
        events = [{"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}]
        for index, item in enumerate(output):
            events += [
                {"type": "response.output_item.added", "output_index": index, "item": item},
                {"type": "response.output_item.done", "output_index": index, "item": item},
            ]
        events.append({"type": "response.completed", "response": response})
        return self._events(events) if body.get("stream") else self._json(response)

    def _events(self, events):
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send("text/event-stream", text.encode())

    def _json(self, value):
        self._send("application/json", json.dumps(value).encode())

    def _send(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
