"""A way to the gateway that tells when the gateway has noticed that a client has gone: connections are passed on, and one
that its client has closed is closed towards the gateway, until the gateway closes it as well."""

import asyncio
from urllib.parse import urlsplit

from approval_person import until

PIECE = 64 * 1024


class Line:
    """One connection: what its client sent, and which of the two have closed it."""

    def __init__(self) -> None:
        self.sent = b""
        self.left, self.closed = False, False


class Relay:
    def __init__(self, endpoint: str) -> None:
        self.gateway = urlsplit(endpoint)
        self.lines: list[Line] = []

    @classmethod
    async def before(cls, endpoint: str) -> "Relay":
        """A relay whose `url` leads to this endpoint."""
        relay = cls(endpoint)
        relay.server = await asyncio.start_server(relay.pass_on, "127.0.0.1", 0)
        port = relay.server.sockets[0].getsockname()[1]
        relay.url = endpoint.replace(relay.gateway.netloc, f"127.0.0.1:{port}")
        return relay

    def sent(self, part: str) -> bool:
        """Whether a client has sent this."""
        return any(part.encode() in line.sent for line in self.lines)

    async def gone(self, part: str) -> None:
        """Waits until a client has closed every connection on which it sent this, and the gateway as well."""
        concerned = [line for line in self.lines if part.encode() in line.sent]
        await until(lambda: all(line.left and line.closed for line in concerned), "the client's end")

    async def pass_on(self, near_in: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        line = Line()
        self.lines.append(line)
        far_in, far_out = await asyncio.open_connection(self.gateway.hostname, self.gateway.port)

        async def upwards() -> None:
            try:
                while piece := await near_in.read(PIECE):
                    line.sent += piece
                    far_out.write(piece)
                    await far_out.drain()
            except ConnectionError:
                pass
            line.left = True
            if not far_out.is_closing():
                far_out.write_eof()

        async def downwards() -> None:
            try:
                while piece := await far_in.read(PIECE):
                    if not near_out.is_closing():
                        near_out.write(piece)
            except ConnectionError:
                pass
            line.closed = True
            near_out.close()

        await asyncio.gather(upwards(), downwards(), return_exceptions=True)
        far_out.close()
