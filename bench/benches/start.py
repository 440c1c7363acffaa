"""Start to ready: from before the program is executed until /readyz answers 200 on a new
connection. The median of 20 starts. Asking again every half millisecond, so that much may be the
asking."""

import socket
import subprocess
import time

from lib import stats
from lib.arguments import at_least
from lib.process import BenchError, end, port_free

HELP = "start to ready, the median of 20 starts"
PACKAGES = []
PROGRAMS = ["interlude"]
ASK = b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
ASK_AGAIN_S = 0.0005
BAR_MS = 50


def options(parser):
    parser.add_argument("--starts", type=at_least(6), default=20)


def ready(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(ASK)
            return connection.recv(4096).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def start_ms(bench):
    port, admin_port = port_free(), port_free()
    argv = [bench.program("interlude"), "serve", "--workers", "1"]
    argv += ["--listen", f"127.0.0.1:{port}", "--admin", f"127.0.0.1:{admin_port}"]
    began = time.monotonic()
    server = bench.scope.start(argv, core=bench.server_core, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    while not ready(admin_port):
        if server.poll() is not None:
            raise BenchError(f"interlude ended with {server.returncode} before it was ready")
        if time.monotonic() - began > 10:
            raise BenchError("interlude was not ready within 10 s")
        time.sleep(ASK_AGAIN_S)
    took = (time.monotonic() - began) * 1000
    server.kill()  # nothing is in flight, and a drain takes its time
    end(server)
    return took


def run(bench, report, options):
    start_ms(bench)  # the first one reads the program from the disk
    taken = [start_ms(bench) for _ in range(options.starts)]
    report.say(f"Slowest of {len(taken)}: {max(taken):.1f} ms. taskset's own start is in it.")
    report.bar("Start to ready", stats.interval_of(taken), BAR_MS, " ms")
    report.data["ms"] = taken
