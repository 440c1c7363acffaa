"""HTTP as bytes on a socket: what is sent is exactly what a test says."""

import json
import socket
import struct
import time


class Closed(Exception):
    """The server closed the connection where an answer was expected."""


class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    def json(self):
        return json.loads(self.body)

    def field(self, name):
        values = [v for n, v in self.fields if n.lower() == name.lower()]
        assert len(values) <= 1, "%s stands %d times" % (name, len(values))
        return values[0] if values else None

    @property
    def code(self):
        return self.json().get("code")


class Connection:
    def __init__(self, address, seconds=30.0, receive_buffer=None):
        self.socket = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(seconds)
        self.socket.connect(address)
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data)

    def send_slowly(self, parts, pause=0.002):
        for part in parts:
            self.send(part)
            time.sleep(pause)

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def _more(self):
        got = self.socket.recv(65536)
        self.buffer += got
        return bool(got)

    def answer(self, to_head=False):
        """The next answer. Closed, if the connection ends before its first byte."""
        while b"\r\n\r\n" not in self.buffer:
            if not self._more():
                if self.buffer:
                    raise AssertionError("half an answer: %r" % self.buffer)
                raise Closed()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        version, status, _ = lines[0].split(" ", 2)
        assert version == "HTTP/1.1", lines[0]
        fields = [(n, v.strip()) for n, v in (line.split(":", 1) for line in lines[1:])]
        answer = Answer(int(status), fields, b"")
        if to_head or answer.status < 200 or answer.status == 204:
            return answer
        length = int(answer.field("Content-Length"))
        while len(self.buffer) < length:
            if not self._more():
                raise AssertionError("%d of %d bytes of a body" % (len(self.buffer), length))
        answer.body, self.buffer = self.buffer[:length], self.buffer[length:]
        return answer

    def answers(self):
        """Every answer until the connection ends."""
        found = []
        while True:
            try:
                found.append(self.answer())
            except Closed:
                return found

    def is_open(self, seconds=0.1):
        """Nothing more has come, and the connection is open."""
        self.socket.settimeout(seconds)
        try:
            return self._more() and False
        except socket.timeout:
            return not self.buffer
        except ConnectionError:
            return False
        finally:
            self.socket.settimeout(5.0)

    def ended(self, seconds=30.0):
        """True once the server has ended the connection, with nothing more said."""
        self.socket.settimeout(seconds)
        try:
            return not self._more() and not self.buffer
        except socket.timeout:
            return False
        except ConnectionError:
            return True

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def request(path="/v1/decide", body=None, method="POST", version="HTTP/1.1", host="localhost",
            fields=(), content_type="application/json", length=True):
    """The bytes of a request. `body`: bytes, or what is to be JSON; None: none."""
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    lines = ["%s %s %s" % (method, path, version)]
    if host is not None:
        lines.append("Host: " + host)
    if body is not None:
        if content_type:
            lines.append("Content-Type: " + content_type)
        if length:
            lines.append("Content-Length: %d" % len(body))
    lines += ["%s: %s" % field for field in fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


def decide(request_id="r", **more):
    """A request for a decision whose answer is the same at any time."""
    fields = more.pop("fields", ())
    version = more.pop("version", "HTTP/1.1")
    body = {"request_id": request_id, "time": "2026-11-30T08:00:00Z"}
    body.update(more)
    return request(body=body, fields=fields, version=version)


def ask(address, data, seconds=30.0, to_head=False):
    """One answer on a connection of its own."""
    with Connection(address, seconds) as c:
        c.send(data)
        return c.answer(to_head)


def get(address, path, fields=(), method="GET"):
    """A scrape may be as old as scrapes are shared: waits for that, so that it tells what was done
    before."""
    if path == "/metrics":
        time.sleep(0.025)
    return ask(address, request(path, None, method, fields=fields), to_head=method == "HEAD")


def post(address, path, body, **more):
    return ask(address, request(path, body, **more))
