"""Callers that go on asking while servers come and go, and that account for every request.

    python3 callers.py HOST PORT [--callers N] [--pause-us P,P,...] [--keep] [--get PATH]

Each connects, waits for as long as its pause says, sends one request, takes the answer, and begins
anew: on a new connection, or with --keep on the same one for as long as the server lets it. Once
stdin ends, what has begun is finished; then a line of JSON on stdout says what became of it all:

    answered   with 200
    refused    connections that nobody listened for: no request was sent, it is tried again
    unreached  the same, with another error: of the network, or of this machine
    lost       a request on a fresh connection, or on one that was used a moment ago, that the
               connection ended without an answer to
    raced      the same, on a connection that had been idle for long: HTTP has no cure for that
    late       the same, where this process itself was so slow that the server need not have waited
    status     other answers, by status
    faults     what the first few of the lost saw

A process of its own, with one thread and one epoll: what callers in threads wait for is each other.
"""

import argparse
import collections
import errno
import heapq
import json
import os
import select
import socket
import subprocess
import sys
import time

# A fresh connection has a second for its first byte, and a used one for its next request.
GRACE_S = 1.0
PROMISED_S = 0.8 * GRACE_S  # less what the two clocks may be apart
RETRY_S = 0.002
END_S = 15.0

BODY = b'{"request_id":"r","time":"2026-11-30T08:00:00Z"}'
DECIDE = (b"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
          b"Content-Length: %d\r\n%%s\r\n%s") % (len(BODY), BODY)
GET = "GET %s HTTP/1.1\r\nHost: localhost\r\n%%s\r\n"


class Caller:
    def __init__(self, pause_s):
        self.pause_s = pause_s
        self.socket = None
        self.state = None       # "connecting", "pausing", "asking", "resting"
        self.since = 0.0        # when the connection began, or gave its last answer
        self.sent_at = 0.0
        self.used = False       # it has given an answer
        self.got = b""


class Callers:
    def __init__(self, address, pauses_s, keep, path=None):
        self.address, self.keep = address, keep
        self.family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        request = (GET % path).encode() if path else DECIDE
        self.request = request % (b"" if keep else b"Connection: close\r\n")
        self.epoll = select.epoll()
        self.by_fd = {}
        self.later = []         # a heap of (when, tie, caller)
        self.ties = 0
        self.ending = False
        self.counts = collections.Counter()
        self.status = collections.Counter()
        self.faults = []
        for pause_s in pauses_s:
            self.connect(Caller(pause_s))

    def defer(self, caller, seconds):
        self.ties += 1
        heapq.heappush(self.later, (time.monotonic() + seconds, self.ties, caller))

    def connect(self, c):
        if self.ending:
            return
        c.socket = socket.socket(self.family)
        c.socket.setblocking(False)
        c.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        c.state, c.since, c.got, c.used = "connecting", time.monotonic(), b"", False
        error = c.socket.connect_ex(self.address)
        self.by_fd[c.socket.fileno()] = c
        self.epoll.register(c.socket.fileno(), select.EPOLLOUT)
        if error not in (0, errno.EINPROGRESS):
            self.failed_to_connect(c, error)

    def drop(self, c):
        self.epoll.unregister(c.socket.fileno())
        del self.by_fd[c.socket.fileno()]
        c.socket.close()
        c.state = None

    def failed_to_connect(self, c, error):
        if error == errno.ECONNRESET:  # it was there, and was taken away again
            c.sent_at = time.monotonic()
            self.lose(c, "connect: " + os.strerror(error))
            return
        self.counts["refused" if error == errno.ECONNREFUSED else "unreached"] += 1
        self.drop(c)
        self.defer(c, RETRY_S)

    def connected(self, c):
        error = c.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            self.failed_to_connect(c, error)
            return
        self.epoll.modify(c.socket.fileno(), select.EPOLLIN)
        self.pause(c)

    def pause(self, c):
        c.state = "pausing"
        if c.pause_s:
            self.defer(c, c.pause_s)
        else:
            self.ask(c)

    def ask(self, c):
        try:
            c.socket.send(self.request)
        except OSError as e:
            c.sent_at = time.monotonic()
            self.lose(c, "send: %s" % e.strerror)
            return
        c.sent_at = time.monotonic()
        c.state, c.got = "asking", b""

    def lose(self, c, why):
        waited = c.sent_at - c.since
        kind = "lost" if waited < PROMISED_S else "raced" if c.used else "late"
        self.counts[kind] += 1
        if kind == "lost" and len(self.faults) < 10:
            self.faults.append("%s, %.6f s after the %s" % (
                why, waited, "last answer" if c.used else "connection"))
        self.drop(c)
        self.connect(c)

    def read(self, c):
        try:
            got = c.socket.recv(65536)
        except BlockingIOError:
            return
        except OSError as e:
            got, why = b"", e.strerror
        else:
            why = "the connection ended"
        if c.state == "pausing":
            # Nothing may come here but the end. On a used connection that is the server's right.
            if c.used:
                self.drop(c)
                self.connect(c)
            else:
                c.sent_at = time.monotonic()
                self.lose(c, why + " before the request")
            return
        if not got:
            self.lose(c, why)
            return
        c.got += got
        head, end, body = c.got.partition(b"\r\n\r\n")
        if not end:
            return
        fields = {}
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            fields[name.lower()] = value.strip().lower()
        if len(body) >= int(fields.get(b"content-length", b"0")):
            self.answered(c, int(head.split(b" ", 2)[1]), fields)

    def answered(self, c, status, fields):
        if status == 200:
            self.counts["answered"] += 1
        else:
            self.status[status] += 1
        if self.keep and not self.ending and fields.get(b"connection") != b"close":
            c.used, c.since = True, time.monotonic()
            self.pause(c)
        else:
            self.drop(c)
            self.connect(c)

    def event(self, fd, events):
        c = self.by_fd.get(fd)
        if c is None:
            return
        if c.state == "connecting":
            self.connected(c)
        elif events:
            self.read(c)

    def wake(self):
        now = time.monotonic()
        while self.later and self.later[0][0] <= now:
            c = heapq.heappop(self.later)[2]
            if c.state == "pausing":
                self.ask(c)
            elif c.state is None:
                self.connect(c)

    def timeout_s(self):
        if not self.later:
            return 0.1
        left = self.later[0][0] - time.monotonic()
        return 0 if left < 0.001 else min(left, 0.1)

    def run(self):
        self.epoll.register(0, select.EPOLLIN | select.EPOLLHUP)
        end = None
        while not self.ending or (self.by_fd and time.monotonic() < end):
            for fd, events in self.epoll.poll(self.timeout_s()):
                if fd != 0:
                    self.event(fd, events)
                elif not os.read(0, 4096):
                    self.epoll.unregister(0)
                    self.ending, end = True, time.monotonic() + END_S
            self.wake()
        for c in self.by_fd.values():
            if c.state == "asking":
                self.counts["lost"] += 1
                self.faults.append("no answer within %g s" % END_S)
        return self.report()

    def report(self):
        kinds = ("answered", "refused", "unreached", "lost", "raced", "late")
        report = {kind: self.counts[kind] for kind in kinds}
        report["status"] = dict(self.status)
        report["faults"] = self.faults
        return report


class Asking:
    """Callers at work, in a process of their own, until finish()."""

    def __init__(self, address, callers=50, pauses_us=(0, 300), keep=False, path=None):
        command = [sys.executable, os.path.abspath(__file__), address[0], str(address[1]),
                   "--callers", str(callers), "--pause-us", ",".join(map(str, pauses_us))]
        command += ["--keep"] if keep else []
        command += ["--get", path] if path else []
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def finish(self):
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, "the callers ended with %d" % self.process.returncode
        return json.loads(out)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        self.process.stdin.close()
        self.process.stdout.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--callers", type=int, default=50)
    parser.add_argument("--pause-us", default="0,300")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--get", metavar="PATH", help="asks for that instead of a decision")
    a = parser.parse_args()
    pauses = [float(p) / 1e6 for p in a.pause_us.split(",")]
    callers = Callers((a.host, a.port), [pauses[i % len(pauses)] for i in range(a.callers)], a.keep,
                      a.get)
    json.dump(callers.run(), sys.stdout)


if __name__ == "__main__":
    main()
