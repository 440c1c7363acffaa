"""What the documents show is what happens. Each block has a mark above it (lib/docs.py):

    file NAME             a file of that name, for the blocks after it
    python NAME           is run, after the other blocks of that name
    prints                what the last block printed
    plan [WHERE]          a part of a plan: loads within the demonstration plan. WHERE: see PARTS
    request NAME, SECTION + KEY: VALUE   is asked of the page's plan, with that more
    answer NAME           has at least these members
    usage                 commands, each with what it does
    shell own|traffic     is run: own: starts its server itself; traffic: of a server with traffic
    scripts               scripts that are there; the benches, too
    nginx, haproxy        tests/flow/proxies_flow.py runs them
    elsewhere FILE [TEST] that test runs it
    figure                nothing to run
"""

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import unittest

from lib import docs, server as servers
from lib.lab import load, url
from lib.server import ROOT, Server, free_port, wait_for
from lib.wire import Connection, ask, decide, get, request

SECONDS = 60.0  # for whatever is waited for, however busy the machine is

with open(os.path.join(ROOT, "examples", "interlude.yaml")) as f:
    DEMO = f.read()

SMALL = """\
version: v
salt: s
actions: []
policies:
  promoted: {kind: fixed, rules: [{action: none}]}
variants:
  control: {policy: promoted}
default_variant: control
...
"""

# Where a part of a plan belongs: what to put around it, and how far in.
PARTS = {
    "": ("", 0),
    "small": ("", 0),
    "fixed": ("policies:\n  part:\n    kind: fixed\n", 4),
    "learned": ("policies:\n  part:\n    kind: thompson\n    fallback: promoted\n", 4),
    "rule": ("policies:\n  part:\n    kind: fixed\n    rules:\n      - action: pod_1\n", 8),
    "guardrails": ("guardrails:\n", 2),
    "log": ("log:\n", 2),
}


def indented(text, by):
    return "".join(" " * by + line + "\n" for line in text.splitlines())


def sections(text):
    """A plan's keys, each with its lines: `key:`, or with what stands beside or below it."""
    found = {}
    for line in text.splitlines():
        line = re.sub(r" +#.*$", "", line)
        if not line or line.startswith("#") or line == "...":
            continue
        name = re.match(r"\w+", line)
        if name:
            key = name.group()
        found.setdefault(key, []).append(line)
    return found


def entries(lines):
    """Of a mapping that is written below its key."""
    found = {}
    for line in lines[1:]:
        name = re.match(r"  (\w+):", line)
        if name:
            key = name.group(1)
        found.setdefault(key, []).append(line)
    return found


def merged(base, part):
    """`base` with the keys of `part` in the place of its own; of policies, variants and guardrails,
    with those that it names."""
    found = sections(base)
    for key, lines in sections(part).items():
        if key in ("policies", "variants", "guardrails") and lines == [key + ":"] + lines[1:]:
            both = dict(entries(found.get(key, [key + ":"])), **entries(lines))
            lines = [key + ":"] + [line for entry in both.values() for line in entry]
        found[key] = lines
    return "".join(line + "\n" for lines in found.values() for line in lines) + "...\n"


def part_of(where, text):
    around, by = PARTS[where]
    return merged(SMALL if where == "small" else DEMO, around + indented(text, by))


def served(text):
    """On free ports."""
    return merged(text, "server: {listen: 127.0.0.1:0, admin: 127.0.0.1:0}\n")


def run(*args, stdin=""):
    return subprocess.run([servers.BINARY, *args], input=stdin, capture_output=True, text=True,
                          timeout=SECONDS)


def check(text):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        return run("check", file.name)


def decide_lines(plan_text, bodies):
    """The answers, from the same code as the server's."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(plan_text)
        file.flush()
        ran = run("decide", "--config", file.name,
                  stdin="".join(json.dumps(b) + "\n" for b in bodies))
    return [json.loads(line) for line in ran.stdout.splitlines()]


def executed(block, names):
    """What it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.text, str(block), "exec"), names)  # the document's own code
    return printed.getvalue()


class Page:
    """One document, block after block."""

    def __init__(self, case, path):
        self.case, self.path = case, path
        self.directory = tempfile.mkdtemp(prefix="interlude-docs-")
        case.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.plan, self.names, self.printed, self.answers = DEMO, {}, None, {}

    def file(self, block):
        with open(os.path.join(self.directory, block.what), "w") as f:
            f.write(block.text)

    def python(self, block):
        before = os.getcwd()
        os.chdir(self.directory)
        try:
            self.printed = executed(block, self.names.setdefault(block.what, {}))
        finally:
            os.chdir(before)

    def prints(self, block):
        self.case.assertEqual(self.printed, block.text)

    def part(self, block):
        text = part_of(block.what, block.text)
        told = check(text)
        self.case.assertEqual(told.returncode, 0, told.stderr + text)
        if not block.what:
            self.plan = merged(self.plan, block.text)

    def request(self, block):
        name, _, more = block.what.partition(", ")
        text = self.plan
        if more:
            section, _, entry = more.partition(" + ")
            text = merged(text, "%s:\n  %s\n" % (section, entry))
        with Server(served(text)) as server:
            answer = ask(server.decisions, request(body=block.text.encode()), SECONDS)
        self.case.assertEqual(answer.status, 200, answer.body)
        self.answers[name] = answer.json()

    def answer(self, block):
        shown = json.loads(block.text)
        answer = self.answers[block.what]
        self.case.assertEqual({k: answer.get(k) for k in shown}, shown)

    def usage(self, block):
        """`FILE` is the demonstration plan. A server starts, and is ended."""
        for line in block.text.splitlines():
            command = re.split(r"   +", line)[0]
            args = [os.path.join(ROOT, "examples", "interlude.yaml") if a == "FILE" else a
                    for a in command.split()]
            self.case.assertEqual(args[0], "interlude")
            if args[1] == "serve":
                Server(args=tuple(args[2:]) + ("--listen", "127.0.0.1:0", "--admin",
                                               "127.0.0.1:0")).close()
            else:
                ran = run(*args[1:])
                self.case.assertEqual(ran.returncode, 0, ran.stderr)

    def shell(self, block):
        if block.what == "own":
            ports = free_port(), free_port()
            with open(os.path.join(self.directory, "plan.yaml"), "w") as f:
                f.write(merged(DEMO, "server: {listen: 127.0.0.1:%d, admin: 127.0.0.1:%d}" % ports))
            with open(os.path.join(self.directory, "bodies.jsonl"), "w") as f:
                f.write(docs.block("docs/captures.md", "file", "bodies.jsonl").text)
            self.bash(block.text, ports)
            return
        with Server() as server:
            ports = server.decisions[1], server.operations[1]
            self.bash("build/interlude-lab load %s --rate 500 --duration 30s >/dev/null &\n"
                      % url(server.decisions) + block.text, ports)

    def bash(self, text, ports):
        """From a directory in which `build` is the one that is tested; what it leaves is ended."""
        for old, new in zip(("7070", "7071"), ports):
            text = text.replace("127.0.0.1:" + old, "127.0.0.1:%d" % new)
        os.symlink(os.path.dirname(servers.BINARY), os.path.join(self.directory, "build"))
        with tempfile.TemporaryFile("w+") as told:
            shell = subprocess.Popen(["bash", "-e", "-c", text], cwd=self.directory, stdout=told,
                                     stderr=told, stdin=subprocess.DEVNULL, start_new_session=True)
            try:
                look = os.WEXITED | os.WNOHANG | os.WNOWAIT
                wait_for(lambda: os.waitid(os.P_PID, shell.pid, look), 2 * SECONDS,
                         "the end of the commands")
            finally:  # until it is waited for, its number is its group's
                os.killpg(shell.pid, signal.SIGKILL)
                code = shell.wait()
            told.seek(0)
            self.case.assertEqual(code, 0, told.read())

    def scripts(self, block):
        for line in block.text.splitlines():
            words = line.split()
            self.case.assertTrue(os.access(os.path.join(ROOT, words[0]), os.X_OK), line)
            if words[0] == "script/bench" and not words[1].startswith("--"):
                bench = os.path.join(ROOT, "bench", "benches", words[1] + ".py")
                self.case.assertTrue(os.path.exists(bench), line)

    def elsewhere(self, block):
        path, _, test = block.what.partition(" ")
        with open(os.path.join(ROOT, path)) as f:
            self.case.assertIn("def %s(" % test if test else "", f.read())

    def look(self, block):
        if block.kind is None and re.match(r"(script/bench .*\n)+$", block.text):
            return self.scripts(block)
        kinds = {"file": self.file, "python": self.python, "prints": self.prints,
                 "plan": self.part, "request": self.request, "answer": self.answer,
                 "usage": self.usage, "shell": self.shell, "scripts": self.scripts,
                 "elsewhere": self.elsewhere, "figure": lambda b: None,
                 "nginx": lambda b: None, "haproxy": lambda b: None}
        self.case.assertTrue(block.kind in kinds, "%s: what is this block?" % block)
        return kinds[block.kind](block)


class Docs(unittest.TestCase):
    def test_every_block(self):
        seen = 0
        for path in docs.pages():
            page = Page(self, path)
            for block in docs.blocks(path):
                with self.subTest(str(block)):
                    page.look(block)
                seen += 1
        self.assertGreater(seen, 50)

    def test_every_mark_has_a_block(self):
        for path in docs.pages():
            with open(os.path.join(ROOT, path)) as f:
                marks = len(re.findall(r"^<!-- docs: ", f.read(), re.M))
            self.assertEqual(marks, len([b for b in docs.blocks(path) if b.kind]), path)

    def test_every_link_leads_somewhere(self):
        """To a file that is there, and to a heading of it."""
        for path in docs.pages() + ["ARCHITECTURE.md", "CONTRIBUTING.md"]:
            with open(os.path.join(ROOT, path)) as f:
                links = re.findall(r"\]\(([^)\s]+)\)", f.read())
            for link in links:
                if re.match(r"https?:", link):
                    continue
                with self.subTest("%s: %s" % (path, link)):
                    name, _, heading = link.partition("#")
                    target = os.path.join(ROOT, os.path.dirname(path), name) if name else \
                        os.path.join(ROOT, path)
                    self.assertTrue(os.path.exists(target))
                    if heading:
                        self.assertIn(heading, headings(target))

    def test_every_file_named_is_there(self):
        """`src/...`, `script/...` and their like; `build/...` where make puts it."""
        for path in docs.pages() + ["ARCHITECTURE.md", "CONTRIBUTING.md"]:
            for name in set(re.findall(r"[`( ]((?:src|script|tests|bench|examples|docs)/[\w./-]*\w)"
                                       r"(?![\w*-])", self.text(path))):
                if re.search(r"ROOM|NAME", name):
                    continue
                with self.subTest("%s: %s" % (path, name)):
                    self.assertTrue(os.path.exists(os.path.join(ROOT, name)))

    def test_every_metric_named_is_declared(self):
        """One of an answer to a scrape; of a histogram, its parts too."""
        with Server() as server:
            metrics = get(server.operations, "/metrics").body.decode()
        declared = set(re.findall(r"^# TYPE (\w+)", metrics, re.M))
        for path in docs.pages() + ["examples/alerts.yaml"]:
            for name in set(re.findall(r"\binterlude_[a-z]\w*[a-z]\b(?!\*)", self.text(path))):
                with self.subTest("%s: %s" % (path, name)):
                    self.assertIn(re.sub(r"_(bucket|count|sum)$", "", name), declared)

    def test_every_page_is_linked_from_the_first(self):
        for path in docs.pages()[1:]:
            self.assertIn("](%s)" % path, self.text("README.md"))

    def test_every_bench_is_told(self):
        told = re.findall(r"^\| `(\w+)` \|", self.text("docs/measuring.md"), re.M)
        benches = [name[:-3] for name in os.listdir(os.path.join(ROOT, "bench", "benches"))
                   if name.endswith(".py") and name != "__init__.py"]
        self.assertEqual(sorted(told), sorted(benches))

    def test_every_endpoint_named_answers(self):
        with Server() as server:
            for path in docs.pages():
                for method, name in set(re.findall(r"`?(GET|POST) (/\w[\w/]*)`", self.text(path))):
                    with self.subTest("%s: %s %s" % (path, method, name)):
                        port = server.decisions if name == "/v1/decide" else server.operations
                        body = b"{}" if method == "POST" else None
                        answer = ask(port, request(name, body, method), SECONDS)
                        self.assertNotIn(answer.status, (404, 405))

    @staticmethod
    def text(path):
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            return f.read()

    def test_the_reload(self):
        """The command of docs/http.md is answered with the members that it shows, in that order."""
        command, shown = [b for b in docs.blocks("docs/http.md")
                          if b.what.endswith("test_the_reload")]
        shown = json.loads(shown.text)
        words = shlex.split(command.text)
        with Server(served(DEMO)) as server:
            new = served(DEMO).replace("version: demo-1", "version: demo-2")
            server.write_plan("".join(line + "\n" for line in new.splitlines()
                                      if "min_gap" not in line))
            path = words[words.index("POST") + 1].replace("http://127.0.0.1:7071", "")
            fields = [tuple(words[i + 1].split(": ")) for i, w in enumerate(words) if w == "-H"]
            answer = ask(server.operations, request(path, b"", content_type=None, fields=fields),
                         SECONDS).json()
        self.assertEqual(list(answer), list(shown))
        for key in "changed", "version", "not_applied", "weaker", "trigger":
            self.assertEqual(answer[key], shown[key])

    def test_the_warning(self):
        """Of the last example of plans.md one half is warned of, and the other is not."""
        block, = [b for b in docs.blocks("docs/plans.md") if b.what.endswith("test_the_warning")]
        told = check(part_of("", block.text))
        self.assertEqual(told.returncode, 0, told.stderr)
        warnings = [line for line in told.stderr.splitlines() if "ads_today" in line]
        self.assertEqual(len(warnings), 1, told.stderr)

    def test_the_story_s_plan(self):
        """Its `sed` changes the budget, and its `grep` finds something."""
        sed, grep = [b for b in docs.blocks("docs/story.md")
                     if b.what.endswith("test_the_story_s_plan")]
        words = shlex.split(sed.text.splitlines()[0])
        self.assertEqual((words[0], words[2]), ("sed", "examples/interlude.yaml"))
        loud = subprocess.run(words[:3], cwd=ROOT, capture_output=True, text=True).stdout
        told = check(loud)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("rate: unlimited", told.stdout)
        pattern = shlex.split(grep.text)[-1]
        with Server(served(loud)) as server:
            metrics = get(server.operations, "/metrics").body.decode()
        self.assertTrue(re.search(pattern, metrics, re.M), pattern)

    def test_the_bodies(self):
        bodies = docs.block("docs/captures.md", "file", "bodies.jsonl").text
        with Server() as server, tempfile.NamedTemporaryFile("w") as file:
            file.write(bodies)
            file.flush()
            ran = load(url(server.decisions), "--rate", 200, "--duration", "500ms", "--body",
                       file.name)
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_the_families(self):
        """Each row of posteriors.md is complete when it is sent for every action."""
        with open(os.path.join(ROOT, "docs", "posteriors.md")) as f:
            rows = re.findall(r"^\| [A-Z][\w-]+ \| `(\{.*\})` \|$", f.read(), re.M)
        self.assertEqual(len(rows), 4)
        bodies = [{"variant": "bayes", "posteriors": every_action(json.loads(row))} for row in rows]
        self.assertEqual([a["posteriors"] for a in decide_lines(DEMO, bodies)], ["complete"] * 4)


def every_action(posterior):
    return {a: posterior for a in ("none", "pod_1", "pod_2", "pod_3")}


def headings(path):
    """As anchors."""
    with open(path) as f:
        lines = re.findall(r"^#+ (.*)$", f.read(), re.M)
    return [re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines]


EXPERIMENTS = [
    {"name": "first", "salt": "one", "slice": "12.3456%",
     "split": {"beta-2": "1%", "alpha": "2%", "Zed": "3.5%"}},
    {"name": "second", "salt": "zw\u00f6lf/2", "slice": "33.3333%",
     "split": {"control": "33.3333%", "alpha": "0%", "bayes": "66.6667%"}},
    {"name": "third", "salt": "three",
     "split": {"greedy": "0.0001%", "random": "12.5%", "Zed": "7%"}},
]


def experiment_plan(experiments, default):
    arms = "".join("  %s: {policy: promoted}\n" % arm for arm in ("alpha", "Zed", "beta-2"))
    rows = "".join("  - %s\n" % json.dumps(x) for x in experiments)
    return merged(DEMO, "variants:\n%sexperiments:\n%sdefault_variant: %s\n"
                  % (arms, rows, default))


class Experiments(unittest.TestCase):
    def test_the_documented_allocation_is_the_server_s(self):
        names = {}
        for block in docs.blocks("docs/experiments.md"):
            if block.kind == "python":
                executed(block, names)
        units = ["u-%d" % i for i in range(4000)]
        units += ["\u00fc\U0001f600" * (i % 9) + "x" * (i % 7) + str(i) for i in range(1000)]
        found = {}
        # The third takes all whom the others leave; without it some get the default.
        for used, default in (EXPERIMENTS, "control"), (EXPERIMENTS[:2], "random"):
            with Server(served(experiment_plan(used, default))) as server:
                for unit, answer in zip(units, self.answers(server, units)):
                    expected = names["allocate"](used, default, unit)
                    got = answer.get("experiment"), answer["variant"]
                    self.assertEqual(got, expected, unit)
                    found[got] = found.get(got, 0) + 1
        self.assertEqual(len(found), 8, found)  # all but the arm of a millionth

    def test_at_the_borders(self):
        """`u-6` has slice 150048 and split 57834: below a border is in, at it is out."""
        names = {}
        executed([b for b in docs.blocks("docs/experiments.md") if b.kind == "python"][0], names)
        even = {"bayes": "50%", "control": "50%"}
        rows = [
            ("15.0048%", even, (None, "random")),
            ("15.0049%", even, ("adload", "bayes")),
            ("100%", {"bayes": "5.7834%", "control": "94.2166%"}, ("adload", "control")),
            ("100%", {"bayes": "5.7835%", "control": "94.2165%"}, ("adload", "bayes")),
        ]
        for slice_, split, expected in rows:
            experiments = [{"name": "adload", "salt": "adload-1", "slice": slice_, "split": split}]
            answer, = decide_lines(experiment_plan(experiments, "random"), [{"unit_id": "u-6"}])
            self.assertEqual((answer.get("experiment"), answer["variant"]), expected)
            self.assertEqual(names["allocate"](experiments, "random", "u-6"), expected)

    def answers(self, server, units):
        with Connection(server.decisions, SECONDS) as c:
            for at in range(0, len(units), 50):
                some = units[at:at + 50]
                c.send(b"".join(decide(unit_id=unit) for unit in some))
                for _ in some:
                    yield c.answer().json()

    def test_the_shares_that_check_prints_give_the_same_arms(self):
        told = check(experiment_plan(EXPERIMENTS, "control"))
        self.assertEqual(told.returncode, 0, told.stderr)
        names = {}
        executed([b for b in docs.blocks("docs/experiments.md") if b.kind == "python"][0], names)
        splits = re.findall(r"split: \{(.*?)\}", told.stdout)
        self.assertEqual(len(splits), 3)
        as_written = EXPERIMENTS[0]["split"]
        as_printed = dict(share.split(": ") for share in splits[0].split(", "))
        self.assertNotEqual(as_written, as_printed)
        for i in range(3000):
            arms = {names["allocate"]([{"name": "x", "salt": "one", "split": split}], "", "u%d" % i)
                    for split in (as_written, as_printed)}
            self.assertEqual(len(arms), 1, i)


class Rewards(unittest.TestCase):
    def setUp(self):
        self.page = {}
        for block in docs.blocks("docs/rewards.md"):
            self.page.setdefault(block.kind + " " + block.what, []).append(block.text)
        self.plan = part_of("", self.page["plan "][0])

    def test_the_log_is_the_server_s(self):
        """Its lines are what `random` answers; the one with `min_gap` comes after a break."""
        logged = [json.loads(line) for line in self.page["file decisions.jsonl"][0].splitlines()]
        known = {"elapsed_s": 1830, "breaks_in_session": 1, "seconds_since_last_break_end": 900,
                 "ads_last_hour": 0, "ad_seconds_last_hour": 0}
        for line in logged:
            gap = 60 if "min_gap" in line["reasons"] else 900
            body = {"request_id": line["request_id"], "time": line["decided_at"],
                    "segment_id": line["segment_id"], "variant": "random",
                    "session": dict(known, seconds_since_last_break_end=gap)}
            answer, = decide_lines(self.plan, [body])
            self.assertEqual({k: answer[k] for k in line}, line)

    def test_what_it_prints_is_complete(self):
        printed = self.page["prints "]
        bodies = [dict(json.loads(printed[0]), variant="bayes", time="2026-11-30T12:00:00Z")]
        bodies += [{"variant": "bayes", "posteriors": every_action(json.loads(line))}
                   for line in printed[1].splitlines()]
        answers = decide_lines(self.plan, bodies)
        self.assertEqual([a["posteriors"] for a in answers], ["complete"] * 4)
        # Of one action less, the request is partial.
        del bodies[0]["posteriors"]["none"]
        answer, = decide_lines(self.plan, bodies[:1])
        self.assertEqual((answer["posteriors"], answer["reasons"][:2]),
                         ("partial", ["rule", "fallback"]))

    def test_a_cost_is_minimised_by_a_negative_weight(self):
        """By the page's plan: 40 cents for who leaves, against 1 for each ad."""
        for leave, action in (0.01, "pod_3"), (0.5, "none"):
            surely = {"alpha": leave * 1e9, "beta": (1 - leave) * 1e9}
            rarely = {"alpha": 0.01 * 1e9, "beta": 0.99 * 1e9}
            bodies = [{"request_id": "r-%d" % i, "variant": "bayes",
                       "session": {"elapsed_s": 1830, "seconds_since_last_break_end": 900,
                                   "ads_last_hour": 0, "ad_seconds_last_hour": 0},
                       "posteriors": dict(every_action(surely), none=rarely)} for i in range(200)]
            chosen = [a["action"] for a in decide_lines(self.plan, bodies)]
            self.assertGreater(chosen.count(action), 180)  # all but the floor's


# Where the documents say what happens in a case that is easily forgotten: what is added to the
# demonstration plan, the request, and what its answer has.
FIXED = {"elapsed_s": 1830, "tracks_played": 9, "seconds_since_last_break_end": 915,
         "breaks_in_session": 1, "ads_last_hour": 2, "ad_seconds_last_hour": 55}
BAD = {"alpha": -1, "beta": 1}
GOOD = {"alpha": 20, "beta": 80}
PRIOR = """\
policies:
  bayesian:
    kind: thompson
    fallback: promoted
    on_partial: prior
    on_empty: cold_start
    prior: {alpha: 1, beta: 1}
"""
TOWARD = """\
policies:
  promoted: {kind: fixed, rules: [{action: pod_2, cooldown: 5s}]}
  bayesian:
    kind: greedy
    actions: [none, pod_1]
    fallback: promoted
    floor: 1
    floor_toward: fallback
"""
CASES = [
    ("all invalid under prior: the fallback decides", PRIOR,
     {"variant": "bayes", "posteriors": every_action(BAD)},
     {"policy": "promoted", "posteriors": "invalid", "reasons": ["rule", "fallback"]}),
    ("one valid under prior: the prior is put in", PRIOR,
     {"variant": "bayes", "posteriors": dict(every_action(BAD), none=GOOD)},
     {"policy": "bayesian", "posteriors": "invalid", "reasons": ["policy"]}),
    ("{} under cold_start: the prior is all there is", PRIOR,
     {"variant": "bayes", "posteriors": {}},
     {"policy": "bayesian", "posteriors": "cold_start", "reasons": ["policy"]}),
    ("no experiment, no unit", "experiments: []\n", {},
     {"assignment": "default", "variant": "control", "reasons": ["rule"]}),
    ("an experiment, no unit", "", {}, {"assignment": "no_unit", "reasons": ["rule", "no_unit"]}),
    ("ad-free: nothing else is read", "", {"variant": "control", "session": {"tier": "premium"}},
     {"state": "complete", "action": "none", "reasons": ["ad_free"]}),
    ("ad-free: nothing else is judged", "",
     {"variant": "control", "session": {"tier": "premium", "elapsed_s": -1}},
     {"state": "complete", "reasons": ["ad_free"]}),
    ("not ad-free: it is", "", {"variant": "control", "session": dict(FIXED, elapsed_s=-1)},
     {"state": "invalid", "reasons": ["rule", "grace_period"]}),
    ("a rule that is served: its cooldown", "",
     {"variant": "control", "session": dict(FIXED, tracks_played=4)},
     {"action": "pod_1", "cooldown_s": 300}),
    ("a rule that is masked: the cooldown of what is served", "",
     {"variant": "control", "session": dict(FIXED, tracks_played=4, ads_last_hour=6)},
     {"wanted": "pod_1", "action": "none", "cooldown_s": 60, "reasons": ["rule", "ads_per_hour"]}),
    ("the floor, toward a fallback of other actions", TOWARD,
     {"variant": "bayes", "posteriors": {"none": {"alpha": 80, "beta": 20}, "pod_1": GOOD}},
     {"policy": "bayesian", "action": "pod_1", "wanted": None, "cooldown_s": 360,
      "reasons": ["policy"]}),
    ("a second of 60 at the end of a day", "", {"time": "2026-11-30T23:59:60Z"},
     {"decided_at": "2026-12-01T00:00:00.000Z"}),
    ("the same in another zone", "", {"time": "2026-12-01T00:59:60+01:00"},
     {"decided_at": "2026-12-01T00:00:00.000Z"}),
    ("a second of 60 elsewhere", "", {"time": "2026-11-30T08:00:60Z"},
     {"code": "field_range", "pointer": "/time"}),
]


class Choices(unittest.TestCase):
    def test_each(self):
        for what, more, body, expected in CASES:
            with self.subTest(what):
                body = dict({"request_id": "r", "session": FIXED}, **body)
                answer, = decide_lines(merged(DEMO, more), [body])
                self.assertEqual({k: answer.get(k) for k in expected}, expected)
