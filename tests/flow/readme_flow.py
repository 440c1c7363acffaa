"""README's request gives README's answer."""

import json
import os
import re
import unittest

from lib.server import ROOT, Server
from lib.wire import ask, request


def readme():
    """The body that README's curl line sends, and the answer that follows it."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        text = file.read()
    found = re.search(r"curl -s http://127\.0\.0\.1:7070/v1/decide .*? -d '(.*?)'\n\n(.*?)\n\n", text, re.S)
    body, answer = found.groups()
    return body, "".join(line.strip() for line in answer.splitlines())


class Readme(unittest.TestCase):
    def test_the_request_gives_the_answer(self):
        body, expected = readme()
        with Server() as server:
            answer = ask(server.decisions, request(body=body.encode()))
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.body.decode(), expected + "\n")
        self.assertEqual(json.loads(expected)["action"], "pod_2")
