"""A server that is watched: tests/proof/watch.c counts its workers' system calls and notes those
that are none of a request's; bench/malloc_count.c counts allocations and locks, thread by thread."""

import atexit
import contextlib
import glob
import json
import mmap
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import threading
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get("B", os.path.join(ROOT, "build")))
sys.path.insert(0, os.path.join(ROOT, "tests", "flow"))

from lib import server  # noqa: E402
from lib.server import Server, wait_for  # noqa: E402
from lib.wire import Connection, request  # noqa: E402

BINARY = os.path.join(BUILD, "interlude")
PLAN = open(os.path.join(HERE, "plan.yaml")).read()
CC = os.environ.get("CC", "cc")
directory = tempfile.TemporaryDirectory(prefix="interlude-proof-")

# tests/proof/watch.c: struct watch_file.
FILE, WORKER, STRAY = struct.Struct("=2Q"), struct.Struct("=8Q"), struct.Struct("=3Q")
STRAYS_MAX, WORKERS_MAX = 64, 16
WORKER_BYTES = WORKER.size + STRAYS_MAX * STRAY.size
# bench/malloc_count.c: struct slot.
SLOT = struct.Struct("=4Q")

# Clock sources that the C library reads without a system call (vdso(7)).
USER_CLOCKS = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"}
CLOCK_FILE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"

# What the C library does to end a thread, once the worker's loop has returned.
ENDING_CALLS = {"rt_sigprocmask", "madvise", "munmap", "exit"}


def clock_is_read_in_user_space():
    try:
        with open(CLOCK_FILE) as file:
            return file.read().strip() in USER_CLOCKS
    except OSError:
        return True


def skip_if_sanitized():
    """Sanitizers allocate, lock and make system calls of their own: what they do proves nothing."""
    flags = open(os.path.join(BUILD, "flags")).read()
    if os.environ.get("SAN") or "-fsanitize=" in flags:
        print("ok 1 - it # SKIP the build has sanitizers\n1..1")
        sys.exit(0)


def run_tests(tests):
    """Runs them in order, a line each; the first that fails is the last. Exit code."""
    failed = False
    for number, test in enumerate(tests, 1):
        name = test.__name__.strip("_").replace("_", " ")
        try:
            test()
        except Exception as e:  # whatever it is, it has failed
            failed = True
            told = str(e) if isinstance(e, AssertionError) and str(e) else traceback.format_exc()
            print("not ok %d - %s" % (number, name))
            print("# " + told.rstrip().replace("\n", "\n# "))
            break
        print("ok %d - %s" % (number, name), flush=True)
    print("1..%d" % number)
    return 1 if failed else 0


def library(source):
    """Compiles ROOT/source to a library to be loaded first."""
    out = os.path.join(directory.name, os.path.basename(source) + ".so")
    if not os.path.exists(out):
        flags = "-std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -shared -fPIC -pthread".split()
        subprocess.run([CC, *flags, "-o", out, os.path.join(ROOT, source)], check=True)
    return out


def faulty(fault):
    """(program, object): the build's program with tests/proof/faulty.c for request_serve.o."""
    place = os.path.join(directory.name, fault, "serve")
    os.makedirs(place)
    made, program = os.path.join(place, "request_serve.o"), os.path.join(place, "interlude")
    flags = shlex.split(open(os.path.join(BUILD, "flags")).read())
    floor = ["-I" + os.path.join(BUILD, "floor", "serve"), "-I" + os.path.join(ROOT, "include")]
    subprocess.run([*flags, *floor, "-DFAULT_" + fault, "-c", "-o", made,
                    os.path.join(HERE, "faulty.c")], check=True)
    rooms = sorted(glob.glob(os.path.join(BUILD, "room", "*.a")))
    subprocess.run([*flags, "-o", program, os.path.join(BUILD, "obj", "app", "main.o"), made,
                    "-Wl,--start-group", *rooms, "-Wl,--end-group", "-lyaml", "-lm"], check=True)
    return program, made


_calls = {}


def call_name(number):
    if not _calls:
        defined = subprocess.run([CC, "-E", "-dM", "-x", "c", "-"], text=True, check=True,
                                 input="#include <sys/syscall.h>", capture_output=True).stdout
        for name, value in re.findall(r"#define __NR_(\w+) (\d+)\n", defined):
            _calls[int(value)] = name
    return _calls.get(number, "system call %d" % number)


class Stray:
    """A system call that a worker made under the filter, which did not let it through."""

    def __init__(self, program, worker, call, turn, origin):
        self.worker, self.name, self.turn = worker, call_name(call), turn
        self.program, self.origin = program, origin

    def __str__(self):
        where = "an unknown place"
        if self.origin:
            command = ["addr2line", "-f", "-s", "-e", self.program, hex(self.origin - 1)]
            told = subprocess.run(command, capture_output=True, text=True).stdout.split("\n")
            where = "%s (%s)" % tuple(told[:2]) if len(told) > 1 else hex(self.origin)
        return "worker %d called %s, in turn %d, from %s" % (self.worker, self.name, self.turn,
                                                             where)


class Worker:
    def __init__(self, program, number, data):
        (self.tid, self.waits, self.receives, self.sends, self.others, self.switches,
         self.armed, self.stray_count) = WORKER.unpack_from(data)
        noted = [STRAY.unpack_from(data, WORKER.size + i * STRAY.size)
                 for i in range(min(self.stray_count, STRAYS_MAX))]
        self.strays = [Stray(program, number, *one) for one in noted]

    def fault_strays(self):
        """Those that are not the thread's end: what it calls in the turn in which it exits."""
        ends = {s.turn for s in self.strays if s.name == "exit"}
        return [s for s in self.strays if not (s.turn in ends and s.name in ENDING_CALLS)]


class Pipe:
    """Reads a log line by line; or, while stalled, not at all."""

    def __init__(self):
        read, self.write_fd = os.pipe()
        self.lines, self.running = [], threading.Event()
        self.running.set()
        self.file = os.fdopen(read, "rb")
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.file:
            self.lines.append(line)
            self.running.wait()

    def stall(self):
        self.running.clear()

    def resume(self):
        self.running.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.resume()


@contextlib.contextmanager
def environment(**values):
    """Of what is started within."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class Watched(Server):
    """The server `program`, watched. `pipe`: where its log goes, instead of to a file."""

    def __init__(self, plan_text, program=None, pipe=None, args=()):
        self.program, self.pipe = program or BINARY, pipe
        place = tempfile.mkdtemp(dir=directory.name)
        self.watch_path = os.path.join(place, "watch")
        self.malloc_path = os.path.join(place, "malloc")
        preload = library("tests/proof/watch.c") + ":" + library("bench/malloc_count.c")
        atexit.register(self._kill)
        with environment(LD_PRELOAD=preload, WATCH_FILE=self.watch_path,
                         WATCH_CLOCK="0" if clock_is_read_in_user_space() else "1",
                         MALLOC_COUNT_FILE=self.malloc_path):
            server.BINARY = self.program
            super().__init__(plan_text, args, stdout=pipe.write_fd if pipe else None, wait=not pipe)
        if pipe:
            os.close(pipe.write_fd)
            ready = wait_for(lambda: [line for line in pipe.lines if b"server_ready" in line], 10,
                             "a line `server_ready`")
            told = json.loads(ready[0])
            self.decisions = self._address(told["listen"])
            self.operations = self._address(told["admin"])
        self.map = self._mapped(self.watch_path)

    def _kill(self):
        """Where close() was not come to."""
        process = getattr(self, "process", None)
        if process and process.poll() is None:
            process.kill()

    @staticmethod
    def _mapped(path):
        with open(path, "r+b") as file:
            return mmap.mmap(file.fileno(), 0)

    def workers(self):
        data = self.map[:]
        count = FILE.unpack_from(data)[1]
        return [Worker(self.program, i, data[FILE.size + i * WORKER_BYTES:])
                for i in range(min(count, WORKERS_MAX))]

    def received(self):
        return sum(w.receives for w in self.workers())

    def arm(self, count):
        """From here on the workers are under the filter. Each is given something to do, for it puts
        itself there when it turns."""
        self.map[:8] = struct.pack("=Q", 1)
        connections = [Connection(self.decisions) for _ in range(count)]
        for c in connections:
            c.send(request(body={}))
            c.answer()
            c.close()
        wait_for(lambda: len([w for w in self.workers() if w.armed]) == count, 5,
                 "the filter of every worker")
        for w in self.workers():
            assert w.armed == 1, "no filter: %s" % os.strerror(w.armed - 2)

    def fault_strays(self):
        return [s for w in self.workers() for s in w.fault_strays()]

    def heap(self):
        """(allocations, frees, locks) of all workers together."""
        tids = {w.tid for w in self.workers()}
        with open(self.malloc_path, "rb") as file:
            slots = [counts for tid, *counts in SLOT.iter_unpack(file.read()) if tid in tids]
        return tuple(sum(column) for column in zip(*slots)) if slots else (0, 0, 0)


def heap_grown(before, after):
    return tuple(b - a for a, b in zip(before, after))
