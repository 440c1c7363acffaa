"""What the server says about itself, whatever becomes of those who listen: the books of the log
agree with what was read to the record, and nothing that a sink does hurts."""

import collections
import contextlib
import fcntl
import json
import os
import pty
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from lib import server as server_module
from lib.faults import FAULTS, UNLIMITED, Told, body_of, fire, plan_text, serve, settled
from lib.server import Server, free_port, is_sanitized, resident_kb, wait_for
from lib.wire import Connection, ask, get, post, request


class Load(threading.Thread):
    """Faulty requests, pipelined, as fast as they are answered, until it is told to stop."""

    def __init__(self, address):
        super().__init__()
        self.address, self.rounds, self.ending = address, 0, threading.Event()
        self.bytes = b"".join(request(body=body_of(fault)) for fault, _ in FAULTS) * 8
        self.fault = None
        self.start()

    def run(self):
        try:
            with socket.create_connection(self.address, 10) as s:
                while not self.ending.is_set():
                    s.sendall(self.bytes)
                    answers, tail = 0, b""
                    while answers < 8 * len(FAULTS):
                        got = s.recv(1 << 18)
                        assert got, "the connection ended"
                        answers += (tail + got).count(b"HTTP/1.1 200")
                        tail = got[-11:]
                    self.rounds += 8
        except (OSError, AssertionError) as e:
            self.fault = e

    def stop(self):
        self.ending.set()
        self.join()
        if self.fault:
            raise self.fault
        return self.rounds


# A process that moves what comes out of a FIFO to the end of a file. By splice, which takes from the
# one what it gave the other: nothing is in its own hands when it is killed.
COLLECT = """
import fcntl, os, sys, time
parent, fifo, out = int(sys.argv[1]), os.open(sys.argv[2], os.O_RDONLY | os.O_NONBLOCK), \\
    os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT)
fcntl.fcntl(fifo, fcntl.F_SETPIPE_SZ, 16384)
os.lseek(out, 0, os.SEEK_END)
print("ready", flush=True)
while os.getppid() == parent:
    try:
        if os.splice(fifo, out, 65536):
            continue
    except BlockingIOError:
        pass
    time.sleep(0.001)
"""


class Collector:
    """The reader of a FIFO: a process that stands still, is killed, and started anew."""

    def __init__(self, path, out):
        self.path, self.out = path, out
        self.process = None
        self.start()

    def start(self):
        """It has opened the FIFO, and stands still."""
        self.process = subprocess.Popen(
            [sys.executable, "-c", COLLECT, str(os.getpid()), self.path, self.out],
            stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"
        self.process.send_signal(signal.SIGSTOP)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def read(self, seconds):
        self.process.send_signal(signal.SIGCONT)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGSTOP)

    def lines(self):
        """By event, but for a line that is not all there yet."""
        with open(self.out, "rb") as f:
            whole = f.read().rpartition(b"\n")[0]
        return collections.Counter(json.loads(line)["event"]
                                   for line in whole.decode().split("\n") if line)


class Books(unittest.TestCase):
    def balance(self, told, workers, before):
        for site in told.sites():
            fired, queued = told.fired(site), told.queued(site)
            outcomes = sum(told.outcome(site, o)
                           for o in ("written", "dropped", "suppressed", "outranked"))
            self.assertEqual(fired, outcomes + queued, site)
            self.assertGreaterEqual(queued, 0, site)
            # A record of these takes 200 bytes and more; the outbox holds 1,024 lines.
            self.assertLessEqual(queued, workers * (512 * 1024 // 200) + 1024, site)
            self.assertLessEqual(fired, told.samples["interlude_signal_opportunities_total"][site,])
            if before:
                self.assertGreaterEqual(fired, before.fired(site), site)
        return told

    def chaos(self, workers, seed, seconds=2.2):
        directory = tempfile.mkdtemp(prefix="interlude-test-")
        self.addCleanup(shutil.rmtree, directory)
        fifo = os.path.join(directory, "log")
        os.mkfifo(fifo)
        log = "sink: {file: %s}, %s, sites: {unknown_variant: {rate: 50, burst: 10}}" % (
            fifo, UNLIMITED)
        collector = Collector(fifo, os.path.join(directory, "collected"))
        self.addCleanup(lambda: collector.kill())  # the last one
        server = serve(self, plan_text(log), workers=workers)
        loads = [Load(server.decisions) for _ in range(workers + 1)]
        chance, told, gone = random.Random(seed), None, 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            what = chance.choice(["read", "read", "stall", "kill"])
            length = chance.uniform(0.01, 0.3)
            if what == "read":
                collector.read(length)
            elif what == "stall":
                time.sleep(1.5 * length)
            else:
                collector.kill()
                time.sleep(length)
                told = self.balance(Told(server), workers, told)
                collector.start()
                gone += 1
            told = self.balance(Told(server), workers, told)
        rounds = sum(load.stop() for load in loads)

        def at_rest():
            """Nothing is queued, and nothing more was written while the rest was read."""
            first = Told(server)
            collector.read(0.02)
            second = Told(server)
            same = first.samples["interlude_log_records_total"] == \
                second.samples["interlude_log_records_total"]
            return second if same and second.queued() == 0 else None
        told = wait_for(at_rest, 30, "an end of what is queued")
        self.balance(told, workers, None)

        written = {site: told.outcome(site, "written") for site in told.sites()}

        def all_read():
            collector.read(0.02)
            lines = collector.lines()
            return lines if sum(lines.values()) >= sum(written.values()) else None
        lines = wait_for(all_read, 30, "every line that was written")
        for site in told.sites():
            self.assertEqual(lines[site], written[site], site)
        expected = collections.Counter()
        for _, fires in FAULTS:
            for site, n in fires.items():
                expected[site] += n * rounds
        for site, n in expected.items():
            self.assertEqual(told.fired(site), n, site)
        self.assertEqual(told.outcome("posteriors_partial", "outranked"), rounds)
        self.assertEqual(told.outcome("posteriors_stale", "outranked"), rounds)
        self.assertGreater(told.outcome("unknown_variant", "suppressed"), 0)
        dropped = sum(told.outcome(site, "dropped") for site in told.sites())
        self.assertEqual(dropped, sum(told.samples["interlude_log_lost_total"].values()))
        if gone:
            self.assertGreater(told.lost("sink_gone"), 0)
        print("# %d workers: %d requests, %d lines read, %d dropped, the reader went %d times"
              % (workers, rounds * len(FAULTS), sum(lines.values()), dropped, gone))

    def test_one_worker(self):
        self.chaos(1, seed=1)

    def test_two_workers(self):
        self.chaos(2, seed=2)

    def test_four_workers(self):
        self.chaos(4, seed=4)


class Sinks(unittest.TestCase):
    def directory(self):
        path = tempfile.mkdtemp(prefix="interlude-test-")
        self.addCleanup(shutil.rmtree, path)
        return path

    def test_a_full_device(self):
        with open("/dev/full", "wb") as full:
            server = serve(self, stdout=full)
            fire(server, 20)
            told = settled(server)
        self.assertEqual(told.outcome("posteriors_absent", "dropped"), 20)
        self.assertEqual(told.lost("disk_full"),
                         sum(told.outcome(site, "dropped") for site in told.sites()))

    def test_a_descriptor_that_cannot_be_written_to(self):
        """poll() calls it ready. Nothing is lost but the timer's line, which is how it is tried again;
        the line that tells of losses waits until one was written."""
        with open("/dev/null", "rb") as unwritable:
            server = serve(self, stdout=unwritable)
            fire(server, 20)
            told = settled(server)
        self.assertEqual(told.outcome("posteriors_absent", "dropped"), 20)
        time.sleep(1)
        later = settled(server)
        tries = [t.outcome("log_suppressed", "dropped") for t in (told, later)]
        self.assertEqual(later.lost("sink_gone") - told.lost("sink_gone"), tries[1] - tries[0])
        self.assertEqual(later.fired("log_lost"), 0)

    def test_a_small_disk(self):
        """A line may be cut where the disk is full; those after it are whole."""
        directory = self.directory()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", directory],
                                 capture_output=True, text=True)
        if mounted.returncode:
            self.skipTest("no tmpfs may be mounted here: " + mounted.stderr.strip())
        self.addCleanup(subprocess.run, ["umount", "-l", directory])
        filler, log = os.path.join(directory, "filler"), os.path.join(directory, "log")
        with open(filler, "wb") as f:
            f.write(b"x" * 40000)
        server = serve(self, plan_text("sink: {file: %s}, %s" % (log, UNLIMITED)))
        for _ in range(20):
            fire(server, 20)
        told = settled(server)
        written, dropped = (told.outcome("posteriors_absent", o) for o in ("written", "dropped"))
        self.assertEqual(written + dropped, 400)
        self.assertGreater(written, 10)
        self.assertGreater(dropped, 10)
        os.unlink(filler)
        fire(server, 5)
        told = settled(server)
        wait_for(lambda: Told(server).outcome("log_lost", "written"), what="log_lost")
        told, events, cut = settled(server), collections.Counter(), 0
        with open(log, encoding="utf-8") as f:
            for line in f:
                try:
                    events[json.loads(line)["event"]] += 1
                except ValueError:
                    cut += 1
        self.assertLessEqual(cut, 1)
        for site in told.sites():
            self.assertEqual(events[site], told.outcome(site, "written"), site)
        self.assertEqual(events["posteriors_absent"], written + 5)

    def test_rotation(self):
        log = os.path.join(self.directory(), "log")
        server = serve(self, plan_text("sink: {file: %s}, %s" % (log, UNLIMITED)))
        fire(server, 3)
        settled(server)
        os.rename(log, log + ".1")
        fire(server, 4)  # still into the old one
        settled(server)
        server.signal(signal.SIGUSR1)
        wait_for(lambda: os.path.exists(log), what="a new log")
        fire(server, 5)
        settled(server)

        def absent(path):
            with open(path, encoding="utf-8") as f:
                return sum(json.loads(line)["event"] == "posteriors_absent" for line in f)
        self.assertEqual((absent(log + ".1"), absent(log)), (7, 5))

    def test_somebody_elses_nonblocking_mode(self):
        """The mode belongs to everybody who shares the description: it is neither an error nor ours
        to change."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 8192)
        server = serve(self, stdout=writer)
        self.assertTrue(os.get_blocking(writer))
        os.set_blocking(writer, False)
        fire(server, 200)
        time.sleep(0.2)
        self.assertEqual(Told(server).outcome("posteriors_absent", "dropped"), 0)
        self.assertGreater(Told(server).queued(), 0)
        os.set_blocking(reader, False)
        text = bytearray()

        def drained():
            try:
                text.extend(os.read(reader, 65536))
            except BlockingIOError:
                pass
            return Told(server).queued() == 0
        wait_for(drained, what="everything read")
        try:
            text.extend(os.read(reader, 65536))
        except BlockingIOError:
            pass
        lines = [json.loads(line) for line in text.decode().split("\n") if line]
        self.assertEqual(sum(x["event"] == "posteriors_absent" for x in lines), 200)
        self.assertFalse(os.get_blocking(writer))

    def test_nobody_reads_at_a_low_rate(self):
        """Nothing is dropped for an hour, so no alert on losses: what stays queued must be seen."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        # A description of our own: to be told when it is full must not be the server's affair.
        filler = os.open("/proc/self/fd/%d" % writer, os.O_WRONLY | os.O_NONBLOCK)
        for size in 4096, 1:
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(filler, b"\n" * size)
        os.close(filler)
        server = serve(self, stdout=writer)
        os.close(writer)
        self.assertEqual(Told(server).outcome("posteriors_absent", "written"), 0)
        for count in range(1, 11):
            fire(server, 1)
            told = wait_for(lambda: (lambda t: t if t.fired("posteriors_absent") == count else None)(
                Told(server)), what="a firing")
            for _ in range(5):  # at each of many scrapes
                self.assertEqual(told.queued("posteriors_absent"), count)
                time.sleep(0.02)
                told = Told(server)
        self.assertEqual(sum(told.outcome(site, "written") for site in told.sites()), 0)
        self.assertEqual(sum(told.samples["interlude_log_lost_total"].values()), 0)
        os.set_blocking(reader, False)

        def drained():
            with contextlib.suppress(BlockingIOError):
                os.read(reader, 1 << 16)
            return Told(server).queued() == 0
        wait_for(drained, what="an empty queue")
        self.assertEqual(Told(server).outcome("posteriors_absent", "written"), 10)

    def test_alerts_see_the_first_one(self):
        """increase() takes a sample before: what it is asked of is there, as 0, from the start."""
        told = Told(serve(self))
        for code in "500", "501", "503":
            self.assertEqual(told.samples["interlude_http_requests_total"][code,], 0)
        self.assertEqual(told.samples["interlude_metric_overflow_total"][()], 0)
        self.assertEqual(told.queued("posteriors_absent"), 0)
        self.assertEqual(told.outcome("posteriors_absent", "written"), 0)

    def test_closed_descriptors(self):
        """No socket becomes one of 0, 1 and 2, into which somebody may write."""
        listen, admin = free_port(), free_port()
        server = Server(plan_text(), wait=False, close_stdout=True, args=[
            "--listen", "127.0.0.1:%d" % listen, "--admin", "127.0.0.1:%d" % admin])
        self.addCleanup(server.close)
        wait_for(lambda: socket.socket().connect_ex(("127.0.0.1", admin)) == 0, 30, "its port")
        self.assertEqual(os.readlink("/proc/%d/fd/1" % server.process.pid), "/dev/null")
        # All three: by a shell, because this test needs its own.
        listen, admin = free_port(), free_port()
        process = subprocess.Popen(
            ["sh", "-c", 'exec "$0" serve --listen 127.0.0.1:%d --admin 127.0.0.1:%d '
             "0<&- 1>&- 2>&-" % (listen, admin), server_module.BINARY])
        try:
            wait_for(lambda: socket.socket().connect_ex(("127.0.0.1", listen)) == 0, 30, "its port")
            for fd in 0, 1, 2:
                self.assertEqual(os.readlink("/proc/%d/fd/%d" % (process.pid, fd)), "/dev/null")
            self.assertEqual(get(("127.0.0.1", admin), "/readyz").status, 200)
        finally:
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(10), 0)

    def test_a_blocked_write_delays_no_exit(self):
        """A terminal that nobody reads says that it has room, and then lets the writer wait."""
        master, terminal = pty.openpty()
        self.addCleanup(os.close, master)
        server = serve(self, stdout=terminal)
        os.close(terminal)
        turned = []

        def stuck():
            fire(server, 50)
            turned.append(Told(server).outcome("posteriors_absent", "written"))
            return turned[-4:] == [turned[-1]] * 4
        wait_for(stuck, 30, "a scribe that is blocked")
        fire(server, 100)
        server.signal(signal.SIGINT)
        self.assertEqual(server.wait_exit(), 0, server.errors())

    def test_what_is_left_at_the_end_is_told(self):
        """Not by the log, which nobody reads."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        server = serve(self, plan_text(server="drain: 0s"), stdout=writer)
        os.close(writer)
        fire(server, 1000)
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait_exit(), 0)
        left = re.search(r"(\d+) log lines were left unwritten: nobody read the log\n$",
                         server.errors())
        self.assertIsNotNone(left, server.errors())
        read = bytearray()
        while got := os.read(reader, 65536):
            read += got
        # Of the lines: two of the start, 1,000, two of the stop; and log_suppressed, if any.
        self.assertIn(int(left[1]) + read.count(b"\n"), (1004, 1005))
        self.assertTrue(read.endswith(b"\n"))

    def test_nothing_is_left_of_a_log_that_is_read(self):
        server = Server(plan_text())
        self.addCleanup(server.close)
        fire(server, 100)
        server.signal(signal.SIGINT)
        self.assertEqual(server.wait_exit(), 0)
        self.assertNotIn("unwritten", server.errors())

    def test_reloads_with_the_reader_stopped(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        server = serve(self, stdout=writer, workers=2)
        os.close(writer)
        fire(server, 4000)  # more than pipe and ring hold

        paths = server.lay_out([plan_text(version="t-%d" % i) for i in range(1252)])

        def reload(first, last):
            with Connection(server.operations) as c:
                for i in range(first, last):
                    server.use_plan(paths[i])
                    c.send(request("/v1/reload", {}))
                    answer = c.answer()
                    self.assertEqual((answer.status, answer.json()["changed"]), (200, True))
                    if i % 50 == 0:
                        fire(server, 50)
        reload(2, 252)
        before = resident_kb(server)
        reload(252, 1252)
        grown = resident_kb(server) - before
        if not is_sanitized(server):
            self.assertLessEqual(grown, 512)
        told = Told(server)
        self.assertGreater(told.lost("ring_full"), 0)
        self.assertGreater(told.queued(), 1000)
        versions = {v for *_, v in told.samples["interlude_missing_posteriors_total"]}
        self.assertEqual(versions, {"t-%d" % i for i in range(1248, 1252)})


class Rest(unittest.TestCase):
    def switches(self, server):
        """How often its threads went to sleep of their own will."""
        total = 0
        for thread in os.listdir("/proc/%d/task" % server.process.pid):
            with open("/proc/%d/task/%s/status" % (server.process.pid, thread)) as f:
                total += int(re.search(r"^voluntary_ctxt_switches:\t(\d+)", f.read(), re.M)[1])
        return total

    def test_an_idle_server_sleeps(self):
        with Server(plan_text(), args=["--workers", "2"]) as server:
            if is_sanitized(server):
                self.skipTest("a sanitizer has a thread of its own")
            fire(server, 10)
            time.sleep(0.3)
            self.sleeps(server)

    def test_an_idle_server_sleeps_whose_reader_has_stopped(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        server = serve(self, stdout=writer)
        os.close(writer)
        if is_sanitized(server):
            self.skipTest("a sanitizer has a thread of its own")
        fire(server, 4000)  # more than pipe and outbox hold
        time.sleep(0.3)
        self.assertGreater(Told(server).queued(), 1000)
        self.sleeps(server)

    def sleeps(self, server):
        begun, before = time.monotonic(), self.switches(server)
        time.sleep(1.5)
        wait_for(lambda: self.switches(server) - before > 5, what="a wake-up")  # or it is no measure
        woken = self.switches(server) - before
        rate = woken / (time.monotonic() - begun)
        print("# %.1f wake-ups a second" % rate)
        self.assertLessEqual(rate, 20)

    def test_a_record_is_soon_out(self):
        """Within 100 ms, at whatever moment of the scribe's turn it comes; a machine that is busy with
        other things may make some of them late, again and again."""
        moments = set(range(12))
        with Server(plan_text()) as server:
            for i in range(400):
                moment = i % 12
                time.sleep(0.013 * moment)
                begun = time.monotonic()
                fire(server, 1)
                server.wait_log("posteriors_absent", count=i + 1)
                if time.monotonic() - begun <= 0.1:
                    moments.discard(moment)
                if not moments:
                    break
        self.assertEqual(moments, set())


class Metrics(unittest.TestCase):
    OPENMETRICS = [("Accept", "application/openmetrics-text; version=1.0.0")]

    def test_others_read_them(self):
        server = serve(self, plan_text("%s, sites: {unknown_variant: {rate: 0}}" % UNLIMITED))
        for fault in range(len(FAULTS)):
            fire(server, 3, fault)
        server.write_plan("nonsense")
        self.assertEqual(post(server.operations, "/v1/reload", {}).status, 422)
        ask(server.decisions, request("/nothing", {}))
        told = settled(server)
        self.assertEqual(told.outcome("unknown_variant", "suppressed"), 3)
        text = get(server.operations, "/metrics").body
        strict = get(server.operations, "/metrics", self.OPENMETRICS).body.decode()
        self.assertTrue(shutil.which("promtool"), "promtool is missing: apt-get install prometheus")
        run = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, b"", b""))
        # Debian's python3-prometheus-client: script/test installs it.
        from prometheus_client.openmetrics import parser
        families = {f.name: f for f in parser.text_string_to_metric_families(strict)}
        self.assertIn("interlude_signal_state", families)

    def test_each_site_is_in_one_state(self):
        server = serve(self)
        told = Told(server)
        states = told.samples["interlude_signal_state"]
        self.assertGreater(len(told.sites()), 10)
        self.assertEqual({site for site, _ in states}, set(told.sites()))
        for site in told.sites():
            self.assertEqual({s: states[site, s] for s in ("constant", "quiet", "normal")},
                             {"constant": 0, "quiet": 0, "normal": 1})

    def test_counters_only_grow_under_scrapes(self):
        """That scrapes hold up no worker is counted by tests/scripts/proof-signals."""
        server = serve(self, workers=2)
        before = Told(server)
        load = Load(server.decisions)
        for _ in range(15):
            time.sleep(0.1)
            told = Told(server)
            for name in before.samples:
                if name.endswith("_total"):
                    for labels, value in before.samples[name].items():
                        self.assertGreaterEqual(told.samples[name][labels], value, name)
            before = told
        rounds = load.stop()

        def counted():
            told = Told(server)
            return sum(told.samples["interlude_decisions_total"].values()) == rounds * len(FAULTS)
        wait_for(counted, what="every decision counted")
