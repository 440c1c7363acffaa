"""How long /healthz takes while 200 connections to the operations port have 20 scrapes each asked for
and read none of them, and a client of the decision port pipelines thousands; beside it, what a decision
takes while that client does."""

import contextlib
import os
import socket
import threading
import time

from benches.memory import answer_read, connected, request_bytes
from lib.arguments import at_least
from lib.process import BenchError

HELP = "/healthz beside scrapes that nobody reads and a client that pipelines"
PACKAGES = []
PROGRAMS = ["interlude"]
CONNECTIONS, SCRAPES, PROBES = 200, 20, 100
BAR_S = 0.2


def options(parser):
    parser.add_argument("--probes", type=at_least(1), default=PROBES)


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def dialled(bench, port, buffer=None):
    connection = socket.socket()
    bench.scope.callback(connection.close)
    if buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.settimeout(10)
    connection.connect(("127.0.0.1", port))
    return connection


def crowd(bench, port):
    """Each asks, and reads nothing."""
    connections = [dialled(bench, port, 4096) for _ in range(CONNECTIONS)]
    for connection in connections:
        connection.sendall(get("/metrics") * SCRAPES)
    return connections


def healths(bench, port, count):
    """Seconds each, on connections of their own, with a fresh crowd for every fifth."""
    took, connections = [], []
    for i in range(count):
        if i % 5 == 0:
            for connection in connections:
                connection.close()
            connections = crowd(bench, port)
        began = time.perf_counter()
        probe = dialled(bench, port)
        probe.sendall(get("/healthz"))
        status = answer_read(probe)
        took.append(time.perf_counter() - began)
        probe.close()
        if b" 200 " not in status:
            raise BenchError(f"/healthz said {status.decode()}")
    return took


def pipelining(connection, request, stop):
    """Sends without an end, and reads what comes."""
    connection.setblocking(False)
    batch, at = request * 500, 0
    while not stop.is_set():
        idle = True
        try:
            at = (at + connection.send(batch[at:])) % len(batch)
            idle = False
        except BlockingIOError:
            pass
        try:
            idle = not connection.recv(1 << 20) and idle
        except BlockingIOError:
            pass
        if idle:
            time.sleep(0.0005)


@contextlib.contextmanager
def pipelined(connection, request):
    stop = threading.Event()
    thread = threading.Thread(target=pipelining, args=(connection, request, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def decisions(one, request, count):
    """Seconds each, on one connection."""
    took = []
    for _ in range(count):
        time.sleep(0.002)
        began = time.perf_counter()
        one.sendall(request)
        answer_read(one)
        took.append(time.perf_counter() - began)
    return took


def row(name, took):
    took = sorted(took)
    return [name] + [f"{took[int(q * (len(took) - 1))] * 1000:.2f}" for q in (0, 0.5, 0.9, 1)]


def run(bench, report, options):
    interlude = bench.interlude()
    port = int(interlude.admin.rsplit(":", 1)[1])
    alone = [0.0] * options.probes
    for i in range(options.probes):
        began = time.perf_counter()
        probe = dialled(bench, port)
        probe.sendall(get("/healthz"))
        answer_read(probe)
        alone[i] = time.perf_counter() - began
        probe.close()
    request = request_bytes(bench, interlude)
    many, one = connected(bench, interlude, 2)
    with pipelined(many, request):
        report.progress("beside the scrapes and the pipelined requests")
        health = healths(bench, port, options.probes)
        report.progress("beside the pipelined requests")
        decided = decisions(one, request, options.probes)
    report.progress("")
    report.table(
        [
            ["milliseconds", "least", "median", "90%", "most"],
            row("/healthz alone", alone),
            row(f"/healthz beside {CONNECTIONS} x {SCRAPES} unread scrapes and that client", health),
            row("a decision beside a client that pipelines", decided),
        ]
    )
    report.say()
    report.at_most("the slowest /healthz", round(max(health), 4), BAR_S, " s")
    report.data["seconds"] = {"alone": alone, "health": health, "decisions": decided}
    report.data["descriptors"] = len(os.listdir(f"/proc/{interlude.pid}/fd"))
