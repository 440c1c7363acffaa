"""What a warm request and an idle connection cost, in what can be counted: system calls, memory.
Timings decide no test; these are counts."""

import os
import shutil
import signal
import subprocess
import time
import unittest

from lib.server import Server, is_sanitized, resident_kb, wait_for
from lib.wire import Connection, request

# The request of the README: its body has 494 bytes there.
BODY = {"request_id": "r-123", "segment_id": "core", "unit_id": "u-9f2", "session_id": "s-1",
        "variant": "bayes",
        "session": {"elapsed_s": 1830, "tracks_played": 9, "seconds_since_last_break_end": 915,
                    "breaks_in_session": 1, "ads_last_hour": 2, "ad_seconds_last_hour": 55,
                    "tier": "free"},
        "posteriors": {"none": {"alpha": 20, "beta": 80}, "pod_1": {"alpha": 25, "beta": 75},
                       "pod_2": {"alpha": 30, "beta": 70}, "pod_3": {"alpha": 22, "beta": 78}}}
REQUEST = request(body=BODY)


class Memory(unittest.TestCase):
    def test_a_thousand_connections(self):
        with Server(args=["--workers", "2"]) as server:
            if is_sanitized(server):
                self.skipTest("a sanitizer's memory is not ours")
            held = [Connection(server.decisions) for _ in range(1000)]
            for c in held:
                c.send(REQUEST)
            for c in held:
                self.assertEqual(c.answer().status, 200)
            print("# %d KiB resident with 1,000 connections" % resident_kb(server))
            self.assertLessEqual(resident_kb(server), 24 * 1024)
            for c in held:
                c.close()

    def test_requests_leave_nothing_behind(self):
        with Server(args=["--workers", "1"]) as server:
            if is_sanitized(server):
                self.skipTest("a sanitizer's memory is not ours")
            with Connection(server.decisions) as c:
                def ask(batches):
                    for _ in range(batches):
                        c.send(REQUEST * 50)
                        for _ in range(50):
                            c.answer()
                ask(200)
                before = resident_kb(server)
                ask(1500)
                self.assertLessEqual(resident_kb(server) - before, 64)


class SystemCalls(unittest.TestCase):
    def test_a_warm_request(self):
        """epoll_wait, recv, send; beside them only the scribe polls."""
        if not shutil.which("strace"):
            self.skipTest("strace is missing: apt-get install strace")
        count = 500
        with Server(args=["--workers", "1"]) as server:
            if is_sanitized(server):
                self.skipTest("a sanitizer makes calls of its own")
            with Connection(server.decisions) as c:
                def ask():
                    c.send(REQUEST)
                    self.assertEqual(c.answer().status, 200)
                ask()
                out = os.path.join(server.directory, "strace")
                tracer = subprocess.Popen(
                    ["strace", "-f", "-c", "-U", "calls,name", "-o", out,
                     "-p", str(server.process.pid)], stderr=subprocess.PIPE)
                wait_for(lambda: traced(server.process.pid) or tracer.poll() is not None,
                         what="strace")
                if tracer.poll() is not None:
                    self.skipTest("strace may not trace: %r" % tracer.communicate()[1])
                time.sleep(0.1)
                for _ in range(count):
                    ask()
                tracer.send_signal(signal.SIGINT)
                tracer.communicate()
                calls = {}
                with open(out) as f:
                    for line in f:
                        words = line.split()
                        if len(words) == 2 and words[0].isdigit() and words[1] != "total":
                            calls[words[1]] = int(words[0])
        self.assertEqual(calls.pop("recvfrom"), count)
        # The last one may not have returned yet, for the tracer, when its answer is here.
        self.assertIn(calls.pop("sendto"), (count - 1, count))
        self.assertLessEqual(calls.pop("epoll_wait", 0) + calls.pop("epoll_pwait", 0), count + 40)
        calls.pop("poll", None)
        calls.pop("ppoll", None)
        calls.pop("restart_syscall", None)
        self.assertEqual(calls, {})


def traced(pid):
    """All its threads are."""
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, thread)) as f:
            if "TracerPid:\t0\n" in f.read():
                return False
    return True
