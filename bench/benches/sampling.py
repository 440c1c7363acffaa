"""What it costs to know where requests spend their time: instructions of a request, from the
worker's event to its answer, by callgrind, of the product against a build of the same sources in
which the marks are empty and no request is ever sampled. Counts, so a busy machine changes
nothing."""

import os
import re
import shutil
import subprocess

from benches.memory import answer_read, connected, request_bytes
from lib import process
from lib.process import BenchError
from lib.targets import HERE, ROOT

HELP = "what stage sampling adds to a request's instructions (callgrind)"
PACKAGES = ["valgrind"]
PROGRAMS = ["interlude"]
ENTRY = "conn_event"  # what the worker's loop calls when a connection is readable
EVERY = "SAMPLE_EVERY = 127"
FEW, MANY = 127 * 4, 127 * 24  # whole turns of the sampling
BAR_PERCENT = 1


def options(parser):
    pass


def built_without(bench):
    """The server without sampling; its path."""
    root = os.path.join(bench.directory, "without")
    os.mkdir(root)
    for name in ("src", "include", "examples"):
        shutil.copytree(os.path.join(ROOT, name), os.path.join(root, name))
    for name in ("Makefile", "VERSION"):
        shutil.copy(os.path.join(ROOT, name), root)
    path = os.path.join(root, "src", "serve", "loop.h")
    with open(path) as file:
        text = file.read()
    if text.count(EVERY) != 1:
        raise BenchError(f"src/serve/loop.h has not one `{EVERY}`")
    with open(path, "w") as file:
        file.write(text.replace(EVERY, "SAMPLE_EVERY = 1 << 30"))
    # The first request would be sampled; `few` takes that away from both.
    flags = f"CFLAGS=-include {os.path.join(HERE, 'no_probe.h')}"
    command = ["make", "-s", f"-j{os.cpu_count()}", "-C", root, "B=build", flags]
    ran = subprocess.run([*command, "build/interlude"], capture_output=True, text=True)
    if ran.returncode:
        raise BenchError(f"the build without sampling failed: {ran.stderr[-2000:]}")
    return os.path.join(root, "build", "interlude")


def collected(bench, program, requests):
    """Instructions within ENTRY of a server that answered so many."""
    port, admin_port = process.port_free(), process.port_free()
    argv = ["valgrind", "--tool=callgrind", f"--toggle-collect={ENTRY}"]
    argv += [f"--callgrind-out-file={os.path.join(bench.directory, 'callgrind.out')}"]
    argv += [program, "serve", "--workers", "1", "--listen", f"127.0.0.1:{port}"]
    argv += ["--admin", f"127.0.0.1:{admin_port}"]
    target = bench.start("callgrind", argv, port, admin_port)
    connection = connected(bench, target, 1)[0]
    request = request_bytes(bench, target)
    for _ in range(requests):
        connection.sendall(request)
        answer_read(connection)
    connection.close()
    process.end(target.popen)
    with open(bench.log_to("callgrind"), errors="replace") as file:
        found = re.search(r"Collected : (\d+)", file.read())
    if not found or int(found[1]) == 0:
        raise BenchError(f"callgrind counted nothing in {ENTRY}")
    return int(found[1])


def run(bench, report, options):
    report.progress("the build without sampling")
    programs = {"with": bench.program("interlude"), "without": built_without(bench)}
    counts = {}
    for name, program in programs.items():
        report.progress(f"{name} sampling")
        few, many = (collected(bench, program, n) for n in (FEW, MANY))
        counts[name] = (many - few) / (MANY - FEW)
    report.progress("")
    added = counts["with"] - counts["without"]
    report.table(
        [["a request", "instructions"]]
        + [[f"{name} sampling", f"{count:,.1f}"] for name, count in counts.items()]
        + [["difference", f"{added:,.1f}"]]
    )
    report.say()
    percent = added / counts["without"] * 100
    report.at_most("what sampling adds", round(percent, 2), BAR_PERCENT, "%")
    report.data["instructions"] = counts
