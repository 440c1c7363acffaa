"""System calls of the worker in warm requests, counted by strace on that thread alone: one
connection, requests one after the other, so each must cost one epoll_wait, one recv and one send,
and nothing else."""

import os
import re
import signal
import subprocess
import time

from benches.memory import answer_read, connected, request_bytes
from lib.arguments import at_least
from lib.process import BenchError, end, threads_of

HELP = "system calls a warm request (strace)"
PACKAGES = ["strace"]
PROGRAMS = ["interlude"]
WARM, REQUESTS = 1000, 2000
WAITS = {"epoll_wait", "epoll_pwait", "epoll_pwait2"}
RECEIVES = {"recvfrom", "recvmsg"}
SENDS = {"sendto", "sendmsg"}


def options(parser):
    parser.add_argument("--requests", type=at_least(1), default=REQUESTS)


def worker_of(pid):
    workers = [tid for tid, name in threads_of(pid).items() if name.startswith("worker")]
    if len(workers) != 1:
        raise BenchError(f"one thread named worker was expected, not {len(workers)}")
    return workers[0]


def counts_read(path):
    """{call: (count, errors)} of strace's table."""
    counts = {}
    with open(path) as file:
        for line in file:
            row = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(\d+)?\s*(\w+)$", line)
            if row and row[3] != "total":
                counts[row[3]] = (int(row[1]), int(row[2] or 0))
    return counts


def traced(bench, tid):
    """strace, once it is attached to the thread."""
    out = os.path.join(bench.directory, "strace.out")
    argv = ["strace", "-c", "-o", out, "-p", str(tid)]
    strace = bench.scope.start(argv, core=bench.client_core, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and strace.poll() is None:
        with open(f"/proc/{tid}/status") as file:
            if f"TracerPid:\t{strace.pid}\n" in file.read():
                return strace, out
        time.sleep(0.01)
    raise BenchError("strace could not attach to the worker; may this user trace?")


def ask(connection, request, count):
    for _ in range(count):
        connection.sendall(request)
        if b" 200 " not in answer_read(connection):
            raise BenchError("interlude answered something else than 200")


def run(bench, report, options):
    interlude = bench.interlude()
    tid = worker_of(interlude.pid)
    connection = connected(bench, interlude, 1)[0]
    request = request_bytes(bench, interlude)
    ask(connection, request, WARM)

    strace, out = traced(bench, tid)
    began = time.monotonic()
    ask(connection, request, options.requests)
    took = time.monotonic() - began
    strace.send_signal(signal.SIGINT)  # it detaches and writes its table
    strace.wait(5)
    end(strace)

    counts = counts_read(out)
    rows = [["call", "calls", "errors", "a request"]]
    for call, (count, errors) in sorted(counts.items()):
        rows.append([call, f"{count:,}", f"{errors:,}", f"{count / options.requests:.4f}"])
    report.table(rows)
    report.say()

    def total(names):
        return sum(counts.get(name, (0, 0))[0] for name in names)

    # The turn that strace interrupts when it attaches, and turns on a timer, are not a request's.
    idle_turns = 2 + took * 20
    others = sum(count for count, _ in counts.values()) - total(WAITS | RECEIVES | SENDS)
    # restart_syscall is the kernel's: a wait that goes on after strace attached.
    others -= counts.get("restart_syscall", (0, 0))[0]
    n = options.requests
    report.at_most("receives a request", total(RECEIVES) / n, 1)
    report.at_most("sends a request", total(SENDS) / n, 1)
    report.at_most("waits beyond one a request", max(0, total(WAITS) - n), round(idle_turns))
    report.at_most("any other call", others, 0)
    report.data["counts"] = counts
