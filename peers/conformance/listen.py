"""Serves an ASGI application on a port of the system's choice and prints where."""

import socket

import uvicorn


def serve(application) -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    print(f"listening http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(application, log_level="warning")).run(sockets=[listener])
