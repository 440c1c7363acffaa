"""interlude-lab's commands. It is built beside the server."""

import os
import subprocess

from lib import server as server_module


def program():
    return os.path.join(os.path.dirname(server_module.BINARY), "interlude-lab")


def command(*args):
    return [program(), *[str(a) for a in args]]


def run(*args):
    return subprocess.run(command(*args), capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)


def load_start(*args, **how):
    return subprocess.Popen(command("load", *args), text=True, **how)


def load(*args):
    return run("load", *args)


def url(address):
    return "http://%s:%d" % address
