"""Processes of a bench: started with a place to run, measured from outside, ended by who started
them.

Everything a bench starts belongs to a Scope, and is ended when the scope is left, however it is
left.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from contextlib import ExitStack

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class BenchError(Exception):
    """Says what to do; told without a traceback."""


class Scope(ExitStack):
    """Owns temporary directories and processes, and ends these processes, no other."""

    def directory(self):
        path = tempfile.mkdtemp(prefix="interlude-bench-")
        self.callback(shutil.rmtree, path, True)
        return path

    def start(self, argv, core=None, **options):
        """Starts argv, on one core if told, and returns its Popen. stdin is empty unless given."""
        if core is not None:
            argv = ["taskset", "-c", str(core)] + argv
        options.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen(argv, **options)
        self.callback(end, process)
        return process


def end(process):
    """Ends one process that was started here, and waits for it. The second SIGTERM is for a server
    that drains; one that heeds neither is killed."""
    steps = ((signal.SIGTERM, 0.5), (signal.SIGTERM, 5), (signal.SIGKILL, None))
    for signal_number, grace_s in steps:
        if process.poll() is not None:
            return
        process.send_signal(signal_number)
        try:
            process.wait(grace_s)
        except subprocess.TimeoutExpired:
            pass


def port_free():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_ready(url, process, log=None, timeout_s=10):
    """Until GET url answers 200."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            told = open(log, errors="replace").read()[-2000:] if log else ""
            raise BenchError(f"{process.args} ended with {process.returncode}. {told}")
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.02)
    raise BenchError(f"{url} was not ready within {timeout_s} s")


def tree_of(pid):
    """pid and every process below it."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    # The command stands in parentheses and may hold anything, spaces too.
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
    found = [pid]
    for at in found:
        found += [child for child, parent in parents.items() if parent == at]
    return found


def threads_of(pid):
    """{tid: name} of one process."""
    threads = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm") as file:
            threads[int(tid)] = file.read().strip()
    return threads


def cpu_s(pid):
    """CPU seconds that a process, its children and all their threads have used, to the nanosecond
    where the kernel keeps schedstat. Threads that ended are not in it: servers keep theirs."""
    total = 0.0
    for at in tree_of(pid):
        for tid in os.listdir(f"/proc/{at}/task"):
            try:
                with open(f"/proc/{at}/task/{tid}/schedstat") as file:
                    total += int(file.read().split()[0]) / 1e9
            except OSError:
                with open(f"/proc/{at}/task/{tid}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                total += (int(fields[11]) + int(fields[12])) * TICK_S
    return total


def rss_bytes(pid):
    """Resident memory of a process and its children. Pages that several share count for each. From
    the page tables: the count in statm is kept in batches, and may be some hundred KiB behind."""
    total = 0
    for at in tree_of(pid):
        with open(f"/proc/{at}/smaps_rollup") as file:
            total += next(int(line.split()[1]) for line in file if line.startswith("Rss:")) * 1024
    return total


def pin(pid, core, elsewhere, here):
    """Puts the threads whose name begins with `here` on `core`, every other one on `elsewhere`."""
    for tid, name in threads_of(pid).items():
        os.sched_setaffinity(tid, {core if name.startswith(here) else elsewhere})
