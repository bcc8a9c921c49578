"""An OpenID Connect provider on loopback that signs in whoever asks, as the person it is told."""

import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT = "lab"


class OidcServer(ThreadingHTTPServer):
    """Attributes: `person`, the claims of who signs in next."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.person: dict[str, Any] = {}
        self.key = RSAKey.generate_key(2048, {"kid": "test", "use": "sig"})
        self.nonces: dict[str, str] = {}  # code -> nonce

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def id_token(self, code: str) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 600, "nonce": self.nonces[code]}
        return jwt.encode({"alg": "RS256", "kid": "test"}, {**claims, **self.person}, self.key)


class _Handler(BaseHTTPRequestHandler):
    server: OidcServer

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/.well-known/openid-configuration":
            at = self.server.issuer
            self._json(
                {
                    "issuer": at,
                    "authorization_endpoint": f"{at}/authorize",
                    "token_endpoint": f"{at}/token",
                    "jwks_uri": f"{at}/jwks",
                    "id_token_signing_alg_values_supported": ["RS256"],
                }
            )
        elif url.path == "/jwks":
            self._json({"keys": [self.server.key.as_dict(private=False)]})
        else:
            code = secrets.token_urlsafe()
            self.server.nonces[code] = asked["nonce"]
            self.send_response(302)
            back = urlencode({"code": code, "state": asked["state"]})
            self.send_header("Location", f"{asked['redirect_uri']}?{back}")
            self.end_headers()

    def do_POST(self) -> None:
        sent = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self._json({"access_token": "a", "token_type": "Bearer", "id_token": self.server.id_token(sent["code"][0])})

    def _json(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def provider() -> Iterator[OidcServer]:
    server = OidcServer()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
