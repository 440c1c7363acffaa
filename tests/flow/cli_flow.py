"""What somebody meets who has just built it: help, hints, examples, and what is said of a slip."""

import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import unittest

from lib import lab, server as server_module
from lib.server import ROOT, Server, free_port, plan, wait_for
from lib.wire import Connection, ask, decide, get, request

CASES = os.path.join(ROOT, "tests", "cases", "plans")
DEMO = os.path.join(ROOT, "examples", "interlude.yaml")
PLANS = [DEMO, os.path.join(ROOT, "tests", "golden", "plan.yaml"),
         os.path.join(ROOT, "tests", "proof", "plan.yaml")]
LIMIT_S = 60


def interlude(*args, stdin=""):
    return subprocess.run([server_module.BINARY, *args], input=stdin, capture_output=True, text=True,
                          timeout=LIMIT_S)


def good_plans():
    return PLANS + [os.path.join(CASES, name) for name in sorted(os.listdir(CASES))
                    if name.startswith(("good-", "warn-"))]


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def reload(server):
    return ask(server.operations, request("/v1/reload", {}))


class Examples(unittest.TestCase):
    def test_every_plan_decides_its_own(self):
        for path in good_plans():
            with self.subTest(path):
                examples = interlude("decide", "--config", path, "--example")
                self.assertEqual((examples.returncode, examples.stderr), (0, ""))
                requests = examples.stdout.splitlines()
                self.assertGreater(len(requests), 0)
                told = interlude("decide", "--config", path, stdin=examples.stdout)
                self.assertEqual(told.returncode, 0, told.stdout)
                for line, answer in zip(requests, map(json.loads, told.stdout.splitlines())):
                    self.assertEqual(answer["variant"], json.loads(line)["variant"])
                    self.assertEqual(answer["state"], "complete")
                    self.assertIn(answer["posteriors"], ("complete", "by_design"))

    def test_one_for_each_policy_of_the_demonstration_plan(self):
        answers = interlude("decide", stdin=interlude("decide", "--example").stdout).stdout
        policies = [json.loads(line)["policy"] for line in answers.splitlines()]
        self.assertEqual(sorted(policies), ["bayesian", "greedy", "promoted", "random"])

    def test_the_plan_from_stdin(self):
        text = read(DEMO)
        self.assertEqual(interlude("decide", "--config", "-", "--example", stdin=text).stdout,
                         interlude("decide", "--example").stdout)

    def test_the_hint_is_of_the_plan_and_can_be_pasted(self):
        text = plan(more="guardrails: {ad_free: 'tier != \"o\'\'hara\"'}\n").replace("core", "night")
        with Server(text, args=["--hint"]) as server:
            wait_for(lambda: "Ctrl-C stops it" in server.errors(), LIMIT_S, "the hint's end")
            told = server.errors()
            lines = re.findall(r"curl -s http://127\.0\.0\.1:%d/v1/decide -H '.*?' -d '[^']*'"
                               % server.decisions[1], told)
            self.assertEqual(len(lines), 2, told)
            self.assertIn("rules (fixed), by the variant control:", told)
            self.assertIn("learned (thompson), by the variant bayes:", told)
            policies = []
            for line in lines:
                body = shlex.split(line)[-1]
                self.assertEqual(json.loads(body)["segment_id"], "night")
                self.assertEqual(json.loads(body)["session"]["tier"], "o'hara")
                answer = ask(server.decisions, request(body=body.encode())).json()
                self.assertEqual(answer["state"], "complete")
                self.assertNotIn("ad_free", answer["reasons"])
                self.assertIn(answer["posteriors"], ("complete", "by_design"))
                policies.append(answer["policy"])
            self.assertEqual(sorted(policies), ["learned", "rules"])

    def test_no_hint_unasked(self):
        with Server(plan()) as server:
            server.signal(signal.SIGINT)
            self.assertEqual(server.wait_exit(LIMIT_S), 0)
            self.assertIn("operations at http", server.errors())
            self.assertNotIn("curl", server.errors())


class WhichFile(unittest.TestCase):
    """Told where it starts, where it is asked for, and where it is refused."""

    def check(self, server, name):
        self.assertEqual(server.wait_log("server_started", LIMIT_S)["file"], name)
        self.assertEqual(get(server.operations, "/v1/plan").json()["file"], name)

    def test_a_path(self):
        with Server(plan()) as server:
            self.check(server, server.plan_path)
            server.write_plan("salt: [\n...\n")
            answer = reload(server)
            self.assertEqual((answer.status, answer.json()["file"]), (422, server.plan_path))
            self.assertEqual(server.wait_log("plan_refused", LIMIT_S)["file"], server.plan_path)

    def test_the_built_in_plan(self):
        with Server() as server:
            self.check(server, "built-in")
            self.assertEqual(reload(server).json()["file"], "built-in")

    def test_stdin(self):
        with tempfile.TemporaryFile() as log, tempfile.TemporaryFile() as errors:
            process = subprocess.Popen([server_module.BINARY, "serve", "--config", "-"],
                                       stdin=subprocess.PIPE, stdout=log, stderr=errors)
            try:
                self.stdin_served(process, log)
            finally:
                process.kill()
                process.wait()

    def stdin_served(self, process, log):
        def lines(event):
            log.seek(0)
            return [line for line in map(json.loads, log.read().decode().splitlines())
                    if line["event"] == event]

        process.stdin.write(plan().encode())
        process.stdin.close()
        ready = wait_for(lambda: lines("server_ready"), LIMIT_S, "server_ready")[0]
        operations = Server._address(ready["admin"])
        self.assertEqual(lines("server_started")[0]["file"], "-")
        self.assertEqual(get(operations, "/v1/plan").json()["file"], "-")
        answer = ask(operations, request("/v1/reload", {}))
        self.assertEqual((answer.status, answer.code, answer.json()["file"]),
                         (422, "plan_invalid", "-"))
        self.assertIn("stdin, which can be read only once", answer.json()["detail"])
        process.send_signal(signal.SIGHUP)
        refused = wait_for(lambda: lines("plan_refused")[1:], LIMIT_S, "two plan_refused")[0]
        self.assertEqual((refused["trigger"], refused["file"]), ("signal", "-"))
        self.assertNotIn(b"interlude_plan_file_info{", get(operations, "/metrics").body)
        self.assertEqual(ask(Server._address(ready["listen"]), decide()).status, 200)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LIMIT_S), 0)

    def test_a_stop_while_stdin_is_waited_for(self):
        process = subprocess.Popen([server_module.BINARY, "serve", "--config", "-"],
                                   stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        try:
            blocked = "/proc/%d/status" % process.pid
            wait_for(lambda: re.search(r"SigBlk:\s*0*[1-9a-f]", read(blocked)), LIMIT_S,
                     "its signals blocked")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(LIMIT_S), 0)
            self.assertIn(b"stopped by SIGTERM during the start", process.stderr.read())
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stderr.close()


class Stdin(unittest.TestCase):
    def test_check(self):
        text = read(DEMO)
        told, file = interlude("check", "-", stdin=text), interlude("check", DEMO)
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        self.assertTrue(told.stdout.startswith("# -: good. Fingerprint "), told.stdout)
        self.assertEqual(told.stdout.split("\n", 1)[1], file.stdout.split("\n", 1)[1])

    def test_check_of_an_error(self):
        told = interlude("check", "-", stdin=read(DEMO).replace("\nsegments:", "\nsegmnts:"))
        self.assertEqual(told.returncode, 1)
        self.assertRegex(told.stderr, r"^-:\d+:1: ")

    def test_a_file_of_that_name(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "-"), "w") as f:
                f.write(read(DEMO))
            told = subprocess.run([server_module.BINARY, "check", "./-"], cwd=directory, input="",
                                  capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual((told.returncode, told.stderr), (0, ""))

    def test_not_for_two_things(self):
        told = interlude("decide", "--config", "-", stdin=read(DEMO))
        self.assertEqual((told.returncode, told.stdout), (2, ""))
        self.assertIn("reads requests from stdin", told.stderr)
        told = lab.run("serve", "--config", "-", "--config-read", "per-request")
        self.assertEqual((told.returncode, told.stdout), (2, ""))
        self.assertIn("needs a file", told.stderr)


class Help(unittest.TestCase):
    def test_serve_tells_its_defaults(self):
        told = interlude("serve", "--help")
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        text = re.sub(r"\s+", " ", told.stdout)
        # What it says is what a plan without a section `server` runs with.
        bare = re.sub(r"(?m)^server:.*\n", "", read(DEMO))
        self.assertNotEqual(bare, read(DEMO))
        runs = interlude("check", "-", stdin=bare).stdout
        address = {name: re.search(r"\b%s: \"?([0-9.:]+)" % name, runs).group(1)
                   for name in ("listen", "admin")}
        for option, default in (
                ("--config FILE", "the demonstration plan that is built in"),
                ("--listen HOST:PORT", "what the plan says, else " + address["listen"]),
                ("--admin HOST:PORT", "what the plan says, else " + address["admin"]),
                ("--workers N", "what the plan says, else auto"), ("--hint", "off")):
            self.assertRegex(text, r"%s .*?\(default: %s\)" % (re.escape(option), re.escape(default)))
        self.assertIn("workers: auto", runs)

    def test_each_command_has_its_own(self):
        for command in "serve", "check", "decide":
            told = interlude(command, "--help")
            self.assertEqual((told.returncode, told.stderr), (0, ""))
            self.assertTrue(told.stdout.startswith("interlude %s " % command), told.stdout)

    def test_a_program_says_its_own_name(self):
        for argument in "--version", "version":
            told = interlude(argument)
            self.assertRegex(told.stdout, r"\Ainterlude \d+\.\d+\.\d+ \(\w+(-dirty)?\)\n\Z")
            self.assertEqual(lab.run(argument).stdout,
                             told.stdout.replace("interlude ", "interlude-lab ", 1))


class Slips(unittest.TestCase):
    def check(self, told, what):
        self.assertEqual((told.returncode, told.stdout), (2, ""))
        self.assertIn(what, told.stderr)

    def test_a_command(self):
        for name, near in (("serv", "serve"), ("decdie", "decide"), ("chek", "check"),
                           ("versoin", "version")):
            told = interlude(name)
            self.check(told, "interlude: there is no command `%s`; nearest: `%s`\n" % (name, near))
        self.check(interlude("fly"), "interlude: there is no command `fly`\n")
        self.check(lab.run("laod"), "interlude-lab: there is no command `laod`; nearest: `load`\n")

    def test_an_option(self):
        for args, near in ((("serve", "--confg", "x"), "--config"),
                           (("serve", "--listn=x"), "--listen"), (("serve", "--hnt"), "--hint"),
                           (("check", "--stric", DEMO), "--strict"),
                           (("decide", "--explian"), "--explain"),
                           (("decide", "--exampel"), "--example")):
            with self.subTest(args):
                told = interlude(*args)
                self.check(told, "does not know `%s`; nearest: `%s`; see `interlude %s --help`"
                           % (args[1], near, args[0]))
        for args, near in ((("serve", "--gaurd", "x"), "--guard"), (("load", "--rte", "1"), "--rate"),
                           (("load", "--jsn"), "--json"), (("profile", "--duraton", "1s"), "--duration"),
                           (("signals", "--lenint"), "--lenient")):
            with self.subTest(args):
                self.check(lab.run(*args), "does not know `%s`; nearest: `%s`" % (args[1], near))
        self.check(interlude("serve", "--fly"), "does not know `--fly`; see `interlude serve --help`")

    def test_a_load_without_a_rate(self):
        here = "http://127.0.0.1:%d" % free_port()
        for args, missing in (([], "--rate R is missing: how many requests a second"),
                              (["--shape", "diurnal", "--cycle", "1s"], "--peak R is missing"),
                              (["--shape", "diurnal", "--peak", "5"], "--cycle D is missing")):
            self.check(lab.load(here, *args), missing)

    def test_a_port_out_of_range(self):
        for option in "--listen", "--admin":
            other = "--admin" if option == "--listen" else "--listen"
            told = interlude("serve", option, "127.0.0.1:70700", other, "127.0.0.1:0")
            self.check(told, "cannot listen on 127.0.0.1:70700: ports go from 0 to 65535")
        wrong = read(DEMO).replace("listen: 127.0.0.1:7070", "listen: 127.0.0.1:70700")
        told = interlude("check", "-", stdin=wrong)
        self.assertRegex(told.stderr, r"^-:\d+:\d+: expected a port from 0 to 65535, found")

    def test_one_port_for_both(self):
        port = free_port()
        here = "127.0.0.1:%d" % port
        told = interlude("serve", "--listen", here, "--admin", here)
        self.check(told, "%s is asked for twice" % here)


class Decide(unittest.TestCase):
    def test_bad_lines_are_numbered_and_blank_ones_passed_over(self):
        told = interlude("decide", stdin='\n{"request_id":"a"}\n  \t\r\n{"unit_id":1}\n\n[]\n'
                                         '{"request_id":"b"}\n\nx')
        self.assertEqual((told.returncode, told.stderr), (1, ""))
        lines = [json.loads(line) for line in told.stdout.splitlines()]
        self.assertEqual([(line.get("request_id"), line.get("code"), line.get("input_line"))
                          for line in lines],
                         [("a", None, None), (None, "field_type", 4), (None, "field_type", 6),
                          ("b", None, None), (None, "json_syntax", 9)])

    def test_nothing_but_blank_lines(self):
        told = interlude("decide", stdin="\n \n\n")
        self.assertEqual((told.returncode, told.stdout, told.stderr), (0, "", ""))


class Load(unittest.TestCase):
    def test_statuses_are_told(self):
        with Server(plan()) as server, tempfile.NamedTemporaryFile("w") as bodies:
            bodies.write('{"weight": 1, "body": {"request_id": "r-{seq}"}}\n'
                         '{"weight": 1, "body": {"request_id": 5}}\n')
            bodies.flush()
            args = [lab.url(server.decisions), "--rate", 200, "--duration", "500ms", "--arrivals",
                    "constant", "--body", bodies.name]
            target = json.loads(lab.load(*args, "--json").stdout)["targets"][0]
            statuses = target["statuses"]
            self.assertEqual(set(statuses), {"200", "400"})
            self.assertEqual((statuses["200"], statuses["400"]),
                             (target["answered"], target["errors"]["status"]))
            self.assertRegex(lab.load(*args).stdout,
                             r"(?m)^  statuses   200: %(200)d, 400: %(400)d$" % statuses)


class Newlines(unittest.TestCase):
    """Each answer's body is text that ends with a newline, and Content-Length counts it."""

    def test_answers(self):
        with Server(plan()) as server:
            decisions, operations = server.decisions, server.operations
            for what, to, bytes_ in (
                    ("a decision", decisions, decide()),
                    ("with explain", decisions, decide(explain=True)),
                    ("a problem", decisions, decide(unit_id=1)),
                    ("no path", decisions, request("/x", None, "GET")),
                    ("bad HTTP", decisions, b"GET / HTTP/1.1\r\nHost : a\r\n\r\n"),
                    ("readyz", decisions, request("/readyz", None, "GET")),
                    ("healthz", operations, request("/healthz", None, "GET")),
                    ("metrics", operations, request("/metrics", None, "GET")),
                    ("plan", operations, request("/v1/plan", None, "GET")),
                    ("signals", operations, request("/v1/signals", None, "GET")),
                    ("explain", operations, request("/v1/explain", {})),
                    ("drill", operations,
                     request("/v1/drill", {"signal": "unknown_variant"})),
                    ("reload", operations, request("/v1/reload", {})),
                    ("page", operations, request("/", None, "GET")),
                    ("forbidden", operations, request("/v1/plan", None, "GET", host="evil.example"))):
                self.check(what, ask(to, bytes_))
            server.write_plan("x: 1\n")
            refused = reload(server)
            self.assertEqual(refused.status, 422)
            self.check("refused", refused)

    def check(self, what, answer):
        with self.subTest(what):
            self.assertTrue(answer.body.endswith(b"\n"), answer.body[-40:])
            self.assertFalse(answer.body.endswith(b"\n\n"))
            if "json" in answer.field("Content-Type"):
                self.assertEqual(answer.body.count(b"\n"), 1)
                answer.json()

    def test_head_tells_the_length_of_get(self):
        with Server(plan()) as server, Connection(server.operations) as c:
            c.send(request("/v1/plan", None, "GET"))
            length = len(c.answer().body)
            c.send(request("/v1/plan", None, "HEAD"))
            self.assertEqual(int(c.answer(to_head=True).field("Content-Length")), length)

    def test_pipelined_answers_stay_apart(self):
        with Server(plan()) as server, Connection(server.decisions) as c:
            c.send(decide(request_id="a") + decide(unit_id=1) + decide(request_id="b"))
            told = [c.answer() for _ in range(3)]
        self.assertEqual([a.status for a in told], [200, 400, 200])
        self.assertEqual([told[i].json()["request_id"] for i in (0, 2)], ["a", "b"])
