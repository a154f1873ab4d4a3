"""The person of the approval stories: a browser without a window in front of the gateway's own page, a passkey made of
software, and the operator's view of what waits."""

import asyncio
import base64
import hashlib
import http.client
import json
import os
import re
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

RP_ID = b"localhost"
# The person was there, and the authenticator knows who.
UP_UV = 0x05
ATTESTED = 0x40
POLL_SECONDS = 0.05
WAIT_SECONDS = 120


async def until(look: Callable[[], object], what: str) -> None:
    """Waits until `look` finds something."""
    end = time.monotonic() + WAIT_SECONDS
    while not look():
        assert time.monotonic() < end, f"{what} did not happen"
        await asyncio.sleep(POLL_SECONDS)


def exchange(url: str, method: str, headers: dict[str, str], body: object = None) -> tuple[int, dict[str, str], str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=WAIT_SECONDS)
    try:
        connection.request(method, parts.path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read().decode()
    finally:
        connection.close()


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Operator:
    """What the operator sees and may do, which includes no yes."""

    def __init__(self, endpoint: str, token: str) -> None:
        self.base = endpoint.removesuffix("/mcp") + "/api/v1"
        self.token = token

    async def ask(self, method: str, path: str, body: object = None):
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        status, _, text = await asyncio.to_thread(exchange, self.base + path, method, headers, body)
        assert status < 300, f"{method} {path}: {status} {text}"
        return json.loads(text)

    async def secret(self, name: str) -> str:
        """The secret of a token that the configuration names."""
        return (await self.ask("POST", "/tokens", {"name": name}))["secret"]

    async def pending(self, path: str) -> str:
        """The id of the request that waits for a call with this path among its arguments, once there is one."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            for waiting in await self.ask("GET", "/approvals"):
                if json.loads(waiting["arguments"]).get("path") == path:
                    return waiting["id"]
            await asyncio.sleep(POLL_SECONDS)
        raise AssertionError(f"nobody was asked about {path}")


class Passkey:
    """An ES256 credential that does not count its uses, as passkeys that live on several devices do not."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.id = os.urandom(32)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.handle = ""

    def create(self, options: dict) -> dict:
        """Answers the options of an enrollment, with no attestation."""
        self.handle = options["user"]["id"]
        point = self.key.public_key().public_numbers()
        x, y = (number.to_bytes(32, "big") for number in (point.x, point.y))
        cose = bytes.fromhex("a5010203262001215820") + x + bytes.fromhex("225820") + y
        data = self.data(UP_UV | ATTESTED, bytes(16) + len(self.id).to_bytes(2, "big") + self.id + cose)
        # { fmt: "none", attStmt: {}, authData: bytes }, as CBOR.
        attestation = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58" + bytes([len(data)]) + data
        client = self.client("webauthn.create", options["challenge"])
        response = {"clientDataJSON": encoded(client), "attestationObject": encoded(attestation), "transports": ["usb"]}
        return self.credential(response)

    def get(self, options: dict) -> dict:
        """Signs the options of a request."""
        assert encoded(self.id) in [one["id"] for one in options["allowCredentials"]], "another passkey is asked for"
        client, data = self.client("webauthn.get", options["challenge"]), self.data(UP_UV, b"")
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        response = {
            "clientDataJSON": encoded(client),
            "authenticatorData": encoded(data),
            "signature": encoded(signature),
            "userHandle": self.handle,
        }
        return {**self.credential(response), "authenticatorAttachment": "cross-platform"}

    def credential(self, response: dict) -> dict:
        known = encoded(self.id)
        return {"id": known, "rawId": known, "type": "public-key", "response": response, "clientExtensionResults": {}}

    def client(self, kind: str, challenge: str) -> bytes:
        said = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps(said, separators=(",", ":")).encode()

    def data(self, flags: int, behind: bytes) -> bytes:
        return hashlib.sha256(RP_ID).digest() + bytes([flags]) + bytes(4) + behind


class Person:
    """Somebody who is signed in on the page and has a passkey."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.headers: dict[str, str] = {}
        self.passkey = Passkey(origin)

    @classmethod
    async def enrolled(cls, operator: Operator) -> "Person":
        window = await operator.ask("POST", "/approvals/enroll", {"user": "owner"})
        person = cls(window["url"].split("/enroll")[0])
        headers, said = await person.send("/sign-in", {"token": operator.token})
        cookie = headers["set-cookie"].split(";")[0]
        person.headers = {"cookie": cookie, "highwater-page-secret": said["secret"]}
        begun = await person.post("/enroll/begin", {"user": "owner"})
        response = person.passkey.create(begun["options"])
        key = await person.post("/enroll/finish", {"ticket": begun["ticket"], "response": response})
        await person.post("/enroll/code", {"id": key["id"], "code": window["code"]})
        return person

    async def sign(self, request: str) -> None:
        """Signs a request with the passkey."""
        asked = await self.post(f"/approve/{request}/challenge", {})
        response = self.passkey.get(asked["requestOptions"])
        signed = {"challengeId": asked["challengeId"], "response": response}
        await self.post(f"/approve/{request}/assertion", signed)

    async def confirm(self, request: str, remember: str | None = None) -> None:
        """Presses the button."""
        await self.post(f"/approve/{request}/confirm", {"remember": remember})

    async def decline(self, request: str) -> None:
        await self.post(f"/approve/{request}/decline", {})

    async def look(self, path: str) -> str:
        """A document of the page, as this person sees it."""
        visit = {"sec-fetch-dest": "document", "cookie": self.headers["cookie"]}
        status, _, document = await asyncio.to_thread(exchange, self.origin + path, "GET", visit)
        assert status == 200, f"{path}: {status} {document}"
        return document

    async def post(self, path: str, body: dict) -> dict:
        return (await self.send(path, body))[1]

    async def send(self, path: str, body: dict) -> tuple[dict[str, str], dict]:
        known = {key: value for key, value in self.headers.items() if key == "cookie"}
        visit = {"sec-fetch-dest": "document", **known}
        status, _, document = await asyncio.to_thread(exchange, f"{self.origin}/inbox", "GET", visit)
        csrf = re.search(r'data-csrf="([^"]*)"', document)
        assert csrf, f"the page is {status} {document}"
        headers = {
            "origin": self.origin,
            "sec-fetch-site": "same-origin",
            "content-type": "application/json",
            "highwater-csrf": csrf[1],
            **self.headers,
        }
        status, answered, text = await asyncio.to_thread(exchange, self.origin + path, "POST", headers, body)
        assert status == 200, f"{path}: {status} {text}"
        return answered, json.loads(text)
