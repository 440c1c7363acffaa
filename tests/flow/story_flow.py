"""interlude-lab serve: each switch of the story does what it says, and the product has none."""

import collections
import contextlib
import json
import os
import re
import resource
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

from lib import lab
from lib import server as server_module
from lib.server import ROOT, Server, free_port, plan, wait_for
from lib.wire import Connection, ask, decide, get

GUARDS, LOGS = ("typed", "unconditional"), ("staged", "synchronous")
READS = ("start", "per-request")
REQUESTS = 20
ACTIONS = 4  # of the built-in plan
REQUESTS_MORE_THAN_A_RING = 4000  # with ids of 128 bytes, in 512 KiB


def lab_serve(*switches, **more):
    return Server(args=list(more.pop("args", ())) + list(switches), program="interlude-lab", **more)


def metric(operations, name, **labels):
    """The sum of a metric's samples that have these labels."""
    total = 0.0
    for line in get(operations, "/metrics").body.decode().split("\n"):
        if line.startswith((name + "{", name + " ")) and all(
                '%s="%s"' % label in line for label in labels.items()):
            total += float(line.rsplit(" ", 1)[1])
    return total


def bytes_read(server):
    with open("/proc/%d/io" % server.process.pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("rchar:"))


class Switches(unittest.TestCase):
    def ask_all(self, server, count=REQUESTS, **body):
        with Connection(server.decisions) as c:
            for i in range(count):
                c.send(decide("r-%d" % i, **body))
                self.assertEqual(c.answer().status, 200)

    def test_lines_and_counters(self):
        for guard in GUARDS:
            for log in LOGS:
                with self.subTest(guard=guard, log=log), \
                        lab_serve("--guard", guard, "--log=" + log, "--workers", "1") as server:
                    told = REQUESTS if guard == "unconditional" else 0
                    port = server.operations
                    self.ask_all(server, variant="control", segment_id="core")
                    if log == "synchronous":  # each was there before its answer
                        self.assertEqual(len(server.log("posteriors_absent")), told)
                    # Whatever the switches, the learned policy misses what it was not sent.
                    self.ask_all(server, 1, variant="bayes", segment_id="core")
                    lines = [server.wait_log("posteriors_absent", count=i + 1)
                             for i in range(told + 1)]
                    self.assertEqual(len(server.log("posteriors_absent")), told + 1)
                    self.assertEqual([line["request_id"] for line in lines],
                                     ["r-%d" % i for i in range(told)] + ["r-0"])
                    for line in lines:
                        self.assertEqual(line["level"], "warning")
                        self.assertEqual(line["missing_actions"],
                                         ["none", "pod_1", "pod_2", "pod_3"])
                    wait_for(lambda: metric(port, "interlude_decisions_total") == REQUESTS + 1)
                    for variant, count in ("control", told), ("bayes", 1):
                        self.assertEqual(metric(port, "interlude_missing_posteriors_total",
                                                variant=variant, segment_id="core"),
                                         ACTIONS * count)
                        for action in "none", "pod_1", "pod_2", "pod_3":
                            self.assertEqual(metric(port, "interlude_missing_posteriors_total",
                                                    variant=variant, missing_action=action), count)

    def test_a_part_of_the_posteriors(self):
        with lab_serve("--guard", "unconditional") as server:
            sent = {name: {"alpha": 1, "beta": 1} for name in ("none", "pod_2")}
            self.ask_all(server, 1, variant="control", posteriors=sent)
            line = server.wait_log("posteriors_partial")
            self.assertEqual(line["missing_actions"], ["pod_1", "pod_3"])
            sent.update({name: {"alpha": 1, "beta": 1} for name in ("pod_1", "pod_3")})
            self.ask_all(server, 3, variant="control", posteriors=sent)
            self.assertEqual(metric(server.operations, "interlude_missing_posteriors_total"), 2)

    def test_the_constant_signal_can_be_seen(self):
        """Staged, the mistake is in the log's books: the signal fires whenever it can."""
        for log, fired in ("staged", REQUESTS), ("synchronous", 0):
            with self.subTest(log), \
                    lab_serve("--guard", "unconditional", "--log", log) as server:
                self.ask_all(server, variant="control")
                def told(what):
                    return metric(server.operations, "interlude_signal_%s_total" % what,
                                  signal="posteriors_absent")
                wait_for(lambda: told("opportunities") == REQUESTS)
                self.assertEqual(told("fired"), fired)

    def test_the_check_finds_the_mistake(self):
        """A thousand requests that miss nothing: the check passes the product, and fails the guard.
        171 are too few for a verdict, and look constant."""
        for guard, count, code, says in (
                ("typed", 1100, 0, "0 constant"),
                ("unconditional", 1100, 1, "posteriors_absent looks constant so far (1100 of 1100)"),
                ("unconditional", 171, 1, "posteriors_absent looks constant so far (171 of 171)")):
            with self.subTest(guard=guard, count=count), \
                    lab_serve("--guard", guard, "--log", "staged") as server:
                self.ask_all(server, count, variant="control")

                def checked():
                    if metric(server.operations, "interlude_decisions_total") != count:
                        return None
                    run = lab.run("signals", "--check", lab.url(server.operations))
                    return run if says in run.stdout else None
                run = wait_for(checked, what=says)
                self.assertEqual(run.returncode, code, run.stdout + run.stderr)

    def test_the_plan_is_read_in_each_request(self):
        size = len(plan())
        for read in READS:
            for option in "--config", "--config-read":
                with self.subTest(read=read, option=option), \
                        lab_serve(plan_text=plan(), args=[option, read]) as server:
                    self.ask_all(server, 1)
                    before = bytes_read(server)
                    self.ask_all(server)
                    more = bytes_read(server) - before
                    if read == "per-request":
                        self.assertGreaterEqual(more, REQUESTS * size)
                    else:
                        self.assertLess(more, REQUESTS * size)
                    # In vain: the plan that is served decides until a reload.
                    server.write_plan(plan("t-2"))
                    self.assertEqual(ask(server.decisions, decide()).json()["version"], "t-1")
                    server.signal(signal.SIGHUP)
                    server.wait_log("plan_reloaded")
                    self.assertEqual(ask(server.decisions, decide()).json()["version"], "t-2")

    def test_all_at_once_and_several_workers(self):
        with lab_serve("--guard", "unconditional", "--log", "synchronous", "--config",
                       "per-request", "--workers", "3") as server:
            held = [Connection(server.decisions) for _ in range(6)]
            for i in range(REQUESTS):
                for c in held:
                    c.send(decide("r-%d" % i, variant="control"))
            for c in held:
                for _ in range(REQUESTS):
                    self.assertEqual(c.answer().json()["version"], "demo-1")
                c.close()
            self.assertEqual(len(server.log("posteriors_absent")), 6 * REQUESTS)


class Document(unittest.TestCase):
    def test_the_plan_without_a_budget(self):
        """docs/story.md's command makes a plan that drops lines instead of suppressing them."""
        with open(os.path.join(ROOT, "docs", "story.md"), encoding="utf-8") as file:
            command = re.search(r"^    (sed .*) > /tmp/loud.yaml$", file.read(), re.M).group(1)
        loud = subprocess.run(shlex.split(command), cwd=ROOT, check=True, capture_output=True).stdout
        with tempfile.NamedTemporaryFile(suffix=".yaml") as plan_file:
            plan_file.write(loud)
            plan_file.flush()
            run = subprocess.run([server_module.BINARY, "check", plan_file.name],
                                 capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("rate: unlimited", run.stdout)


@contextlib.contextmanager
def unread(*switches):
    """A server of one worker whose log, without a budget, goes into a pipe that is full. Yields
    (address, of the operations port, let_it_flow)."""
    port, admin = free_port(), free_port()
    reader, writer = os.pipe()
    # A description of our own: to be told when it is full must not be the server's affair.
    filler = os.open("/proc/self/fd/%d" % writer, os.O_WRONLY | os.O_NONBLOCK)
    flowing = threading.Event()

    def flow():
        flowing.wait()
        while os.read(reader, 65536):
            pass

    thread = threading.Thread(target=flow)
    thread.start()
    try:
        with lab_serve(*switches, stdout=writer, wait=False,
                       plan_text=plan(log="budget: {rate: unlimited}"),
                       args=["--workers", "1", "--listen", "127.0.0.1:%d" % port,
                             "--admin", "127.0.0.1:%d" % admin]) as server:
            os.close(writer)
            writer = None

            def ready():
                with contextlib.suppress(ConnectionError):
                    return get(("127.0.0.1", admin), "/readyz").status == 200
            wait_for(ready, 30, "/readyz")
            for size in 4096, 1:
                with contextlib.suppress(BlockingIOError):
                    while True:
                        os.write(filler, b"\n" * size)
            os.close(filler)
            filler = None
            try:
                yield ("127.0.0.1", port), ("127.0.0.1", admin), flowing.set
            finally:
                flowing.set()  # a worker that is stuck in a write would never end
            server.signal(signal.SIGINT)
            server.wait_exit()
    finally:
        flowing.set()
        for fd in writer, filler:
            if fd is not None:
                os.close(fd)
        thread.join()
        os.close(reader)


class Stall(unittest.TestCase):
    """Nobody reads the log. A request that writes waits for ever; one that does not is answered."""

    def answered(self, c, seconds):
        return bool(select.select([c.socket], [], [], seconds)[0])

    def test_synchronous_stalls(self):
        for read in READS:
            with unread("--guard", "unconditional", "--log", "synchronous", "--config",
                        read) as (address, _, let_it_flow), Connection(address) as c:
                c.send(decide(variant="control"))
                self.assertFalse(self.answered(c, 0.5))
                let_it_flow()
                self.assertEqual(c.answer().status, 200)

    def test_a_turn_that_does_not_end_is_told(self):
        with unread("--guard", "unconditional", "--log", "synchronous") as (address, operations, _), \
                Connection(address) as c:
            c.send(decide(variant="control"))
            wait_for(lambda: metric(operations, "interlude_loop_lag_seconds") > 4, 15, "a lag")

    def test_others_do_not(self):
        for switches, drops in ((["--guard", "unconditional", "--log", "staged"], True),
                                (["--guard", "typed", "--log", "synchronous"], False),
                                (["--guard", "unconditional", "--config", "per-request"], True)):
            with self.subTest(switches), unread(*switches) as (address, operations, _), \
                    Connection(address) as c:
                for _ in range(REQUESTS_MORE_THAN_A_RING):
                    c.send(decide("r" * 128, variant="control"))
                    self.assertTrue(self.answered(c, 5))
                    self.assertEqual(c.answer().status, 200)
                dropped = metric(operations, "interlude_log_records_total",
                                 signal="posteriors_absent", outcome="dropped")
                self.assertEqual(dropped > 0, drops)


class File(unittest.TestCase):
    def serve_into_file(self):
        directory = tempfile.mkdtemp(prefix="interlude-test-")
        self.addCleanup(shutil.rmtree, directory)
        path = os.path.join(directory, "log")
        port, admin = free_port(), free_port()
        server = lab_serve("--log", "synchronous", wait=False,
                           plan_text=plan(log="sink: {file: %s}, budget: {rate: unlimited}" % path),
                           args=["--workers", "1", "--listen", "127.0.0.1:%d" % port,
                                 "--admin", "127.0.0.1:%d" % admin])
        self.addCleanup(server.close)
        server.decisions, server.operations = ("127.0.0.1", port), ("127.0.0.1", admin)
        wait_for(lambda: os.path.exists(path) and self.events(path)["server_ready"], 30, "a start")
        return server, path

    def events(self, path):
        """By event; what is no whole line is one, None."""
        events = collections.Counter()
        with open(path, encoding="utf-8") as f:
            for line in f:
                try:
                    events[json.loads(line)["event"]] += 1
                except ValueError:
                    events[None] += 1
        return events

    def absent(self, server, count):
        with Connection(server.decisions) as c:
            for _ in range(count):
                c.send(decide(variant="bayes"))
                self.assertEqual(c.answer().status, 200)

    def test_a_file_that_may_grow_no_more(self):
        """The lines are lost, the requests answered, and the server lives: as the product does."""
        server, path = self.serve_into_file()
        self.absent(server, 3)
        end = os.path.getsize(path) + 1000
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (end, end))
        self.absent(server, 50)
        self.assertLess(self.events(path)["posteriors_absent"], 53)
        self.assertLessEqual(os.path.getsize(path), end)
        server.signal(signal.SIGINT)
        self.assertEqual(server.wait_exit(), 0, server.errors())

    def test_a_rotated_file_keeps_what_is_synchronous(self):
        """SIGUSR1 is the product's log's: docs/story.md says so."""
        server, path = self.serve_into_file()
        self.absent(server, 3)
        os.rename(path, path + ".1")
        server.signal(signal.SIGUSR1)
        wait_for(lambda: os.path.exists(path) and self.events(path)["log_reopened"],
                 what="a new log")
        self.absent(server, 2)
        self.assertEqual(self.events(path + ".1")["posteriors_absent"], 5)
        self.assertEqual(self.events(path)["posteriors_absent"], 0)


class Usage(unittest.TestCase):
    def test_wrong_words(self):
        for arguments, told in (
                (["--guard", "none"], "--guard takes `typed` or `unconditional`, not `none`"),
                (["--log=async"], "--log takes `staged` or `synchronous`, not `async`"),
                (["--config-read", "once"],
                 "--config-read takes `start` or `per-request`, not `once`"),
                (["--guard"], "needs a value after `--guard`"),
                (["--wokers", "1"], "does not know `--wokers`"),
                (["--workers", "0"], "--workers takes"),
                (["--config", "./start"], "./start"),
                (["--config", "per_request"], "per_request")):
            with self.subTest(arguments), lab_serve(*arguments, wait=False) as server:
                self.assertEqual(server.wait_exit(), 2)
                self.assertIn(told, server.errors())

    def test_the_product_knows_nothing_of_it(self):
        for arguments in ["--guard", "typed"], ["--log", "staged"], ["--config-read", "start"]:
            with self.subTest(arguments), Server(args=arguments, wait=False) as server:
                self.assertEqual(server.wait_exit(), 2)
                self.assertIn("does not know `%s`" % arguments[0], server.errors())

        def has_story(binary):
            with open(binary, "rb") as f:
                return b"story_answer" in f.read()
        self.assertTrue(has_story(lab.program()))
        self.assertFalse(has_story(server_module.BINARY))
