"""What is measured: Interlude and its peers, each started on free ports of the loopback and pinned.

The measured process has the server core to itself. The client, the log collector, Interlude's
threads that are no worker, and the bench are on the other one.
"""

import os
import pwd
import subprocess
import urllib.request

from . import process
from .process import BenchError, cpu_s, port_free, rss_bytes, wait_ready

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(HERE)
REQUEST = os.path.join(HERE, "request.json")
DECIDE = "/v1/decide"
JSON = {"Content-Type": "application/json"}


class Target:
    """A running server: where it answers, and what it has used."""

    def __init__(self, name, port, popen, admin_port=None):
        self.name = name
        self.port = port
        self.url = f"http://127.0.0.1:{port}{DECIDE}"
        self.admin = f"http://127.0.0.1:{admin_port}" if admin_port else None
        self.popen = popen
        self.pid = popen.pid

    def cpu_s(self):
        self.alive()
        return cpu_s(self.pid)

    def rss_bytes(self):
        self.alive()
        return rss_bytes(self.pid)

    def alive(self):
        if self.popen.poll() is not None:
            raise BenchError(f"{self.name} ended with {self.popen.returncode} in mid-run")

    def ask(self, body):
        request = urllib.request.Request(self.url, body, JSON)
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.read()


class Bench:
    """Where a bench runs: the build, the cores, and the scope that owns what it starts."""

    def __init__(self, scope, build, server_core, client_core):
        self.scope = scope
        self.build = build
        self.server_core = server_core
        self.client_core = client_core
        with open(REQUEST, "rb") as file:
            self.body = file.read()
        self.directory = scope.directory()

    def program(self, name):
        path = os.path.join(self.build, name)
        if not os.access(path, os.X_OK):
            raise BenchError(f"{path} is not there. Build it: make {name}")
        return path

    def compiled(self, source, *flags):
        """A C file of bench/, compiled into the bench's own directory."""
        out = os.path.join(self.directory, os.path.splitext(source)[0])
        command = [os.environ.get("CC", "cc"), "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall"]
        subprocess.run(command + [*flags, "-o", out, os.path.join(HERE, source)], check=True)
        return out

    def log_to(self, name):
        """A file for what a server says on stderr."""
        return os.path.join(self.directory, f"{name}.stderr")

    def plan(self, name, *changes):
        """The demonstration plan with some of its text changed: (old, new) each. Its path."""
        with open(os.path.join(ROOT, "examples", "interlude.yaml")) as file:
            text = file.read()
        for old, new in changes:
            if text.count(old) != 1:
                raise BenchError(f"examples/interlude.yaml has not one `{old}` to replace")
            text = text.replace(old, new)
        path = os.path.join(self.directory, f"{name}.yaml")
        with open(path, "w") as file:
            file.write(text)
        return path

    def awake(self):
        """From now on no core halts (bench/awake.c): for loads so light that they are idle between
        two requests."""
        program = self.compiled("awake.c")
        for core in (self.server_core, self.client_core):
            self.scope.start([program], core=core)

    def collector(self, *mood):
        """A collector on the client's core; its stdin is for a server to write to."""
        if not hasattr(self, "collector_program"):
            self.collector_program = self.compiled("collector.c")
        report = os.path.join(self.directory, f"collected-{port_free()}")
        popen = self.scope.start(
            [self.collector_program, "--report", report, *mood],
            core=self.client_core,
            stdin=subprocess.PIPE,
        )
        popen.report = report
        return popen

    def start(self, name, argv, port, admin_port=None, collector=None, env=None, cwd=None):
        """Starts a server whose stdout goes down a pipe to a collector, as in production."""
        collector = collector or self.collector()
        log = self.log_to(name)
        with open(log, "wb") as stderr:
            popen = self.scope.start(
                argv, core=self.server_core, stdout=collector.stdin, stderr=stderr, env=env, cwd=cwd
            )
        collector.stdin.close()  # so that the server's end is the only one
        wait_ready(f"http://127.0.0.1:{admin_port or port}/readyz", popen, log)
        return Target(name, port, popen, admin_port)

    def interlude(self, name="interlude", arguments=(), collector=None, env=None):
        port, admin_port = port_free(), port_free()
        argv = [self.program("interlude"), "serve", "--workers", "1"]
        argv += ["--listen", f"127.0.0.1:{port}", "--admin", f"127.0.0.1:{admin_port}", *arguments]
        target = self.start(name, argv, port, admin_port, collector, env)
        process.pin(target.pid, self.server_core, self.client_core, "worker")
        target.collector = collector
        return target

    def python(self, name="python", guard="typed", read="start", collector=None):
        port = port_free()
        service = os.path.join(HERE, "peers", "python", "service.py")
        argv = ["/usr/bin/python3", service, "--listen", f"127.0.0.1:{port}"]
        argv += ["--guard", guard, "--read", read]
        env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
        return self.start(name, argv, port, collector=collector, env=env)

    def nginx(self, answer, name="nginx"):
        """nginx that answers every decision with these bytes."""
        port, directory = port_free(), self.scope.directory()
        with open(os.path.join(HERE, "peers", "nginx", "nginx.conf.in")) as file:
            conf = file.read()
        # As root it would give its worker to a user that may not exist.
        user = f"user {pwd.getpwuid(0).pw_name};" if os.geteuid() == 0 else ""
        text = answer.decode().replace("\\", "\\\\").replace("'", "\\'")
        for word, value in (("@USER@", user), ("@PORT@", str(port)), ("@BODY@", text)):
            conf = conf.replace(word, value)
        with open(os.path.join(directory, "nginx.conf"), "w") as file:
            file.write(conf)
        argv = ["nginx", "-p", directory, "-c", "nginx.conf", "-e", "stderr"]
        return self.start(name, argv, port)
