"""The golden decisions over HTTP: the same 100,000, with one worker and with eight. And the explanations
of the first 10,000."""

import hashlib
import os
import subprocess
import sys
import threading
import unittest

from lib import server as lib_server
from lib.server import Server
from lib.wire import Connection, request

GOLDEN = os.path.join(lib_server.ROOT, "tests", "golden")
BATCH = 50


class Golden(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = subprocess.run([sys.executable, os.path.join(GOLDEN, "make_requests.py")],
                              stdout=subprocess.PIPE, check=True)
        cls.requests = made.stdout.splitlines()
        cls.plan = os.path.join(GOLDEN, "plan.yaml")
        with open(os.path.join(GOLDEN, "decisions.sha256")) as f:
            cls.wanted = f.read().split()[0]

    def answers(self, server, connections):
        """The body of each request's answer, asked for over so many connections at a time."""
        bodies = [None] * len(self.requests)

        def client(first):
            numbers = range(first, len(self.requests), connections)
            with Connection(server.decisions, seconds=30) as c:
                for at in range(0, len(numbers), BATCH):
                    batch = numbers[at:at + BATCH]
                    c.send(b"".join(request(body=self.requests[n]) for n in batch))
                    for n in batch:
                        bodies[n] = c.answer().body

        threads = [threading.Thread(target=client, args=(i,)) for i in range(connections)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return bodies

    def check(self, workers, connections):
        args = ["--config", self.plan, "--workers", str(workers), "--listen", "127.0.0.1:0",
                "--admin", "127.0.0.1:0"]
        with Server(args=args) as server:
            bodies = self.answers(server, connections)
        got = hashlib.sha256(b"".join(bodies)).hexdigest()
        self.assertEqual(got, self.wanted)

    def test_one_worker(self):
        self.check(1, 2)

    def test_eight_workers(self):
        self.check(8, 8)

    def test_explanations(self):
        made = subprocess.run([sys.executable, os.path.join(GOLDEN, "make_requests.py"), "10000", "--explain"],
                              stdout=subprocess.PIPE, check=True)
        told = subprocess.run([lib_server.BINARY, "decide", "--config", self.plan], input=made.stdout,
                              stdout=subprocess.PIPE, check=True)
        explained = subprocess.run([sys.executable, os.path.join(GOLDEN, "explained.py")],
                                   input=told.stdout, stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(len(explained.splitlines()), 10000)
        self.assertGreater(explained.count(b'"step": "choose"'), 5000)
        with open(os.path.join(GOLDEN, "explained.sha256")) as f:
            self.assertEqual(hashlib.sha256(explained).hexdigest(), f.read().split()[0])
