"""Resident memory: with 1,000 connections open, each having sent the documentation's request; and
its growth over a million further requests (10 million with --long) whose ids are all different."""

import socket

from lib import drive
from lib.process import BenchError

HELP = "resident memory at 1,000 connections, and its growth over a million requests"
PACKAGES = ["wrk"]
PROGRAMS = ["interlude"]
CONNECTIONS = 1000
MIB = 2**20


def options(parser):
    parser.add_argument("--long", action="store_true", help="10 million requests, some minutes")


def answer_read(connection):
    """Reads one answer whole; returns its status line."""
    got = b""
    while True:
        piece = connection.recv(65536)
        if not piece:
            raise BenchError("interlude closed a connection")
        got += piece
        head, ended, body = got.partition(b"\r\n\r\n")
        if not ended:
            continue
        lengths = [line for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"]
        if len(body) >= int(lengths[0][15:]):
            return head.split(b"\r\n")[0]


def request_bytes(bench, target):
    head = "POST /v1/decide HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % target.port
    head += "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(bench.body)
    return head.encode() + bench.body


def connected(bench, target, count):
    """`count` open connections, each with its request answered."""
    connections = []
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", target.port), timeout=5)
        bench.scope.callback(connection.close)
        connection.sendall(request_bytes(bench, target))
        status = answer_read(connection)
        if b" 200 " not in status:
            raise BenchError(f"interlude answered {status.decode()}")
        connections.append(connection)
    return connections


def run(bench, report, options):
    interlude = bench.interlude()
    fresh = interlude.rss_bytes()
    connections = connected(bench, interlude, CONNECTIONS)
    held = interlude.rss_bytes()
    for connection in connections:
        connection.close()
    report.say(f"After its start: {fresh / MIB:.2f} MiB.")
    report.at_most(
        f"With {CONNECTIONS:,} connections, each having sent the request", held / MIB, 24, " MiB"
    )

    wanted = 10_000_000 if options.long else 1_000_000
    drive.saturate(bench, interlude, 3, vary=True)
    before, sent = interlude.rss_bytes(), 0
    while sent < wanted:
        report.progress(f"{sent:,} of {wanted:,} requests")
        sent += drive.saturate(bench, interlude, 10, vary=True)["requests"]
    report.progress("")
    grown = interlude.rss_bytes() - before
    report.at_most(f"Growth over {sent:,} requests", grown / MIB, 1, " MiB")
    report.data["bytes"] = {"fresh": fresh, "held": held, "before": before, "grown": grown}
    report.data["requests"] = sent
