#!/usr/bin/python3
"""Runs one named bench: script/bench NAME [options]. docs/measuring.md says how figures are
taken."""

import argparse
import os
import shlex
import signal
import subprocess
import sys

sys.dont_write_bytecode = True

from benches import (  # noqa: E402
    allocs,
    decide,
    generator,
    health,
    memory,
    nginx,
    python,
    reader,
    record,
    reloads,
    sampling,
    start,
    story,
    syscalls,
    warning,
)
from lib.process import BenchError, Scope  # noqa: E402
from lib.report import Report  # noqa: E402
from lib.targets import ROOT, Bench  # noqa: E402

BENCHES = {
    "nginx": nginx,
    "python": python,
    "decide": decide,
    "memory": memory,
    "record": record,
    "warning": warning,
    "reader": reader,
    "reloads": reloads,
    "sampling": sampling,
    "generator": generator,
    "health": health,
    "start": start,
    "story": story,
    "syscalls": syscalls,
    "allocs": allocs,
}


def arguments_read():
    parser = argparse.ArgumentParser(prog="script/bench", description="One bench, one command.")
    parser.add_argument("--build", default=os.environ.get("B", "build"), help="the build directory")
    parser.add_argument(
        "--cores",
        type=cores_read,
        default="0,1",
        help="the measured server's core, and everything else's (default 0,1)",
    )
    names = parser.add_subparsers(dest="name", metavar="NAME", required=True)
    for name, module in BENCHES.items():
        help_text, description = (t.replace("%", "%%") for t in (module.HELP, module.__doc__))
        module.options(names.add_parser(name, help=help_text, description=description))
    return parser.parse_args()


def cores_read(text):
    try:
        server, client = (int(core) for core in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"takes two numbers, as in 0,1, not {text}") from None
    allowed = os.sched_getaffinity(0)
    if {server, client} - allowed or server == client:
        wanted = f"takes two different ones of {sorted(allowed)}, not {text}"
        raise argparse.ArgumentTypeError(wanted)
    return server, client


def end_by_signal(number, frame):
    """So that every scope is left and what it started is ended."""
    raise SystemExit(128 + number)


def main():
    options = arguments_read()
    for number in signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, end_by_signal)
    module = BENCHES[options.name]
    server, client = options.cores
    try:
        script = os.path.join(ROOT, "script", "packages")
        subprocess.run([script, *module.PACKAGES], check=True)
        build = os.path.abspath(os.path.join(ROOT, options.build))
        # By the names that `make` gives them: under others, it would not know what they depend on.
        made = os.path.relpath(build, ROOT)
        programs = [os.path.join(made, program) for program in module.PROGRAMS]
        subprocess.run(["make", "-s", "-C", ROOT, f"B={made}", *programs], check=True)

        os.sched_setaffinity(0, {client})
        with Scope() as scope:
            bench = Bench(scope, build, server, client)
            report = Report(options.name, shlex.join(sys.argv[1:]))
            try:
                module.run(bench, report, options)
            except (BenchError, KeyboardInterrupt, SystemExit) as error:
                report.save(cut=str(error) if isinstance(error, BenchError) else "interrupted")
                raise
            report.save()
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"bench: {shlex.join(error.cmd)} ended with {error.returncode}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0 if all(v["verdict"] != "missed" for v in report.data["verdicts"]) else 1


sys.exit(main())
