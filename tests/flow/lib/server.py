"""A server of our own: on free ports, with a directory of its own, and ended by its own handle."""

import errno
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BINARY = os.path.join(ROOT, "build", "interlude")

PLAN = """\
version: {version}
salt: test
actions:
  - {{name: none, ads: 0, cooldown: 60s}}
  - {{name: pod_1, ads: 1, max_duration: 30s, cooldown: 6m}}
segments: [core]
policies:
  rules:
    kind: fixed
    rules:
      - {{action: {action}}}
  learned: {{kind: thompson, fallback: rules}}
variants:
  control: {{policy: rules}}
  bayes: {{policy: learned}}
default_variant: control
server: {{{server}}}
log: {{{log}}}
{more}...
"""


def plan(version="t-1", action="pod_1", server="", log="level: info", more=""):
    listen = "listen: 127.0.0.1:0, admin: 127.0.0.1:0"
    server = listen + (", " + server if server else "")
    return PLAN.format(version=version, action=action, server=server, log=log, more=more)


# Becomes a server that inherits sockets as systemd hands them over: from descriptor 3 on, with its
# own process's number in LISTEN_PID.
HAND_OVER = """\
import os, sys
count = int(sys.argv[1])
high = [os.dup2(int(fd), 100 + i) for i, fd in enumerate(sys.argv[2:2 + count])]
for i, fd in enumerate(high):
    os.dup2(fd, 3 + i)
os.closerange(3 + count, 256)
os.environ.setdefault("LISTEN_FDS", str(count))
os.environ.setdefault("LISTEN_PID", str(os.getpid()))
os.execv(sys.argv[2 + count], sys.argv[2 + count:])
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(condition, seconds=30.0, what="condition"):
    """What `condition` returns, once it is true."""
    end = time.monotonic() + seconds
    while True:
        late = time.monotonic() > end  # before it is asked: the machine may stand still in between
        value = condition()
        if value:
            return value
        if late:
            raise AssertionError("%s did not come true within %g s" % (what, seconds))
        time.sleep(0.005)


def soon(attempt, seconds, tries=5):
    """Whether one of some attempts, each of which tells how long it took, took less than so many seconds: a
    machine that stands still makes one late, and hardly all."""
    return any(attempt() < seconds for _ in range(tries))


def resident_kb(server):
    with open("/proc/%d/status" % server.process.pid) as f:
        for line in f:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])


def is_sanitized(server):
    """Its memory is laid out over terabytes of addresses."""
    with open("/proc/%d/statm" % server.process.pid) as f:
        return int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") > 1 << 40


_laid_out = {}
_directory = tempfile.TemporaryDirectory(prefix="interlude-test-plans-")


def at_rest(text):
    """A file with this text, which nobody may change. From the second time on, one that is at rest
    and so read at once: a fresh file is read 200 ms after its last change."""
    if text not in _laid_out:
        _laid_out[text] = os.path.join(_directory.name, "%d.yaml" % len(_laid_out))
        with open(_laid_out[text], "w") as f:
            f.write(text)
    return _laid_out[text]


class Server:
    """`plan_text` None: the built-in plan. `stdout`: a file object instead of the log file.
    `descriptors`: the hard limit of open files. `program`: beside the server's, if it is another.
    `inherit`: sockets to hand over. `environment`: what to change in it. `plan_fifo`: the plan's
    path is a FIFO, and nobody writes to it yet."""

    def __init__(self, plan_text=None, args=(), stdout=None, descriptors=None, wait=True,
                 close_stdout=False, program=None, inherit=(), environment=None, plan_fifo=False):
        self.directory = tempfile.mkdtemp(prefix="interlude-test-")
        self.log_path = os.path.join(self.directory, "log")
        self.plan_path = os.path.join(self.directory, "plan.yaml")
        command = [os.path.join(os.path.dirname(BINARY), program) if program else BINARY, "serve"]
        if plan_text is not None:
            self.use_plan(at_rest(plan_text))
        if plan_fifo:
            os.mkfifo(self.plan_path)
        if plan_text is not None or plan_fifo:
            command += ["--config", self.plan_path]
        elif "--listen" not in args:
            command += ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
        command += list(args)
        fds = [s.fileno() for s in inherit]
        if inherit:
            numbers = [str(n) for n in [len(fds)] + fds]
            command = [sys.executable, "-ISc", HAND_OVER] + numbers + command

        def prepare():
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
            if close_stdout:
                os.close(1)

        self.errors_path = os.path.join(self.directory, "stderr")
        with open(self.log_path, "wb") as log, open(self.errors_path, "wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout or log,
                                            stderr=errors, preexec_fn=prepare, pass_fds=fds,
                                            env=dict(os.environ, **environment or {}))
        self.decisions = self.operations = None
        if wait:
            ready = self.wait_log("server_ready")
            self.decisions = self._address(ready["listen"])
            self.operations = self._address(ready["admin"])

    @staticmethod
    def _address(text):
        host, port = text.rsplit(":", 1)
        return host.strip("[]"), int(port)

    def write_plan(self, text):
        """As an editor does it: the file is never half there."""
        with open(self.plan_path + ".new", "w") as f:
            f.write(text)
        os.rename(self.plan_path + ".new", self.plan_path)

    def lay_out(self, texts):
        """Plans that have been at rest long enough to be read at once, for use_plan()."""
        paths = []
        for i, text in enumerate(texts):
            paths.append(os.path.join(self.directory, "laid-out-%d.yaml" % i))
            with open(paths[-1], "w") as f:
                f.write(text)
        time.sleep(0.25)
        return paths

    def use_plan(self, path):
        """As a release is swapped: the plan's path becomes a link to it."""
        os.symlink(path, self.plan_path + ".new")
        os.rename(self.plan_path + ".new", self.plan_path)

    def plan_writer(self, seconds=30):
        """The end of its FIFO to write to, once the server is there to read it."""
        def opened():
            try:
                return os.open(self.plan_path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as e:
                if e.errno != errno.ENXIO:
                    raise
                return None
        return wait_for(opened, seconds, "a reader of the plan")

    def log(self, event=None):
        lines = []
        with open(self.log_path) as f:
            for line in f:
                if line.endswith("\n"):
                    lines.append(json.loads(line))
        return [line for line in lines if event in (None, line["event"])]

    def wait_log(self, event, seconds=30.0, count=1):
        def found():
            lines = self.log(event)
            if len(lines) >= count:
                return lines[count - 1]
            if self.process.poll() is not None:
                raise AssertionError("the server ended with %s: %s"
                                     % (self.process.returncode, self.errors()))
            return None
        return wait_for(found, seconds, "a line `%s` in the log" % event)

    def errors(self):
        with open(self.errors_path, errors="replace") as f:
            return f.read()

    def signal(self, number):
        self.process.send_signal(number)
        if number == signal.SIGSTOP:
            # One thread takes it and stops the others, once it has got a processor.
            wait_for(self.stands_still, 60, "every thread stands still")

    def stands_still(self):
        tasks = "/proc/%d/task" % self.process.pid
        for task in os.listdir(tasks):
            with open("%s/%s/stat" % (tasks, task)) as f:  # a server's threads end with it
                if f.read().rpartition(")")[2].split()[0] not in "Tt":
                    return False
        return True

    def wait_exit(self, seconds=60):
        return self.process.wait(timeout=seconds)

    def cpu_seconds(self):
        with open("/proc/%d/stat" % self.process.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        """Ends it, if it has not ended, and holds it to ending well."""
        fault = None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                code = self.process.wait(timeout=60)
                fault = "it ended with %d: %s" % (code, self.errors()) if code else None
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                fault = "it did not end on SIGINT"
        shutil.rmtree(self.directory, ignore_errors=True)
        if fault:
            raise AssertionError(fault)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
