"""Allocations and locks in warm requests, thread by thread, counted by a library loaded before the
C library (bench/malloc_count.c): the worker must make none, whatever the request."""

import json
import os
import struct

from benches.memory import answer_read, connected
from lib.arguments import at_least
from lib.process import BenchError, threads_of

HELP = "allocations and locks in warm requests (a counting malloc)"
PACKAGES = []
PROGRAMS = ["interlude"]
SLOT = struct.Struct("=4Q")  # tid, allocations, frees, locks


def options(parser):
    parser.add_argument("--requests", type=at_least(1), default=20000)


def slots_read(path):
    """{tid: (allocations, frees, locks)}"""
    with open(path, "rb") as file:
        return {tid: counts for tid, *counts in SLOT.iter_unpack(file.read()) if tid}


def bodies_of(bench):
    """The documentation's request, and what else a caller sends: kinds that warm on first use."""
    request = json.loads(bench.body)
    without = {k: v for k, v in request.items() if k != "posteriors"}
    some = dict(request, posteriors={"none": {"alpha": 20, "beta": 80}})
    bad = dict(request, posteriors={"none": {"alpha": -1, "beta": 80}, "other": None})
    kinds = [request, dict(without, variant="control"), without, some, bad]
    kinds += [dict(request, explain=True), dict(request, variant="nobody"), {}]
    return [json.dumps(kind).encode() for kind in kinds] + [b'{"request_id": 3}', b"{"]


def packed(target, body):
    head = f"POST /v1/decide HTTP/1.1\r\nHost: 127.0.0.1:{target.port}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def ask(connection, requests, count):
    for i in range(count):
        connection.sendall(requests[i % len(requests)])
        answer_read(connection)


def run(bench, report, options):
    counter = bench.compiled("malloc_count.c", "-shared", "-fPIC")
    path = os.path.join(bench.directory, "counts")
    env = dict(os.environ, LD_PRELOAD=counter, MALLOC_COUNT_FILE=path)
    interlude = bench.interlude(env=env)
    connection = connected(bench, interlude, 1)[0]
    requests = [packed(interlude, body) for body in bodies_of(bench)]
    ask(connection, requests, 10 * len(requests))

    before = slots_read(path)
    ask(connection, requests, options.requests)
    after = slots_read(path)
    rows = [["thread", "allocations", "frees", "locks"]]
    threads = threads_of(interlude.pid)
    none = (0, 0, 0)
    grown = {t: [b - a for a, b in zip(before.get(t, none), after.get(t, none))] for t in threads}
    for tid, counts in grown.items():
        rows.append([threads[tid]] + [f"{count:,}" for count in counts])
    report.say(f"In {options.requests:,} warm requests of {len(requests)} kinds:")
    report.table(rows)
    report.say()
    if not any(allocations for allocations, _, _ in before.values()):
        raise BenchError("not even its start was counted: is the program linked statically?")
    workers = [counts for tid, counts in grown.items() if threads[tid].startswith("worker")]
    if not workers:
        raise BenchError("interlude has no thread named worker")
    for at, what in enumerate(rows[0][1:]):
        report.at_most(f"the worker's {what}", sum(counts[at] for counts in workers), 0)
    report.data["threads"] = {f"{threads[tid]} {tid}": counts for tid, counts in grown.items()}
