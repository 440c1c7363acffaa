"""What a bench says: on the terminal while it runs, and in a dated pair of files, JSON and text."""

import json
import os
import subprocess
import sys
import time

from . import machine, stats
from .process import BenchError
from .targets import HERE, ROOT

RESULTS = os.path.join(HERE, "results")


def commit():
    def git(*arguments):
        ran = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
        return ran.stdout.strip() if ran.returncode == 0 else ""

    # Only what is built and measured: a document being written makes no other program.
    built = ("src", "bench", "Makefile", ":!bench/results")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", *built)
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+changes" if changed else "")


class Report:
    def __init__(self, name, options):
        self.name = name
        self.lines = []
        self.data = {
            "bench": name,
            "options": options,
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "commit": commit(),
            "machine": machine.describe(),
            "verdicts": [],
        }
        try:
            os.makedirs(RESULTS, exist_ok=True)
        except OSError as error:
            raise BenchError(f"results go to {RESULTS}: {error.strerror}") from None
        self.watch = machine.Watch()
        m = self.data["machine"]
        self.say(f"{name}: {self.data['started']}, commit {self.data['commit']}")
        virtual = ", virtual" if m["hypervisor"] else ""
        self.say(f"{m['cpu']}, {m['cores']} cores{virtual}, {m['kernel']}")
        self.say(f"script/bench {options}")
        self.say()

    def say(self, line=""):
        self.lines.append(line)
        print(line, flush=True)

    def progress(self, text):
        """One line that is overwritten; only where someone watches."""
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def table(self, rows):
        """Rows of text; the first is the heading. Numbers are expected to be text already."""
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        for row in rows:
            cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
            self.say("  " + "  ".join(cells))

    def bar(self, what, interval, bar, unit=""):
        """A verdict on a bar. A value that is exact has an interval of one point."""
        verdict = stats.bar_verdict(interval, bar)
        verdict = {"what": what, "bar": bar, "verdict": verdict, "timed": True, **interval}
        self.data["verdicts"].append(verdict)
        told = f"{interval_text(interval, unit)}; bar {number_text(bar)}{unit}"
        self.say(f"{what}: {told}: {verdict['verdict']}")

    def against_itself(self, what, interval):
        """What the same method makes of no difference: a bar's verdict is as good as this is
        tight."""
        self.data["verdicts"][-1]["same"] = interval
        self.say(f"{what}: {interval_text(interval)}")

    def generator(self, held_up, runs):
        """Says so when it was the load generator that was slow."""
        if held_up:
            self.say(
                f"  In {held_up} of {runs} runs the generator was late. Percentiles leave out the "
                "pairs in which half of what lies beyond them may be its doing."
            )

    def at_most(self, what, value, bar, unit=""):
        """A verdict on one value that is counted, not estimated. It may just meet its bar."""
        verdict = "met" if value <= bar else "missed"
        self.data["verdicts"].append({"what": what, "bar": bar, "verdict": verdict, "value": value})
        self.say(f"{what}: {number_text(value)}{unit}; bar {number_text(bar)}{unit}: {verdict}")

    def judge(self, quiet):
        """On a machine that was not quiet, a timing carries no verdict."""
        for verdict in self.data["verdicts"]:
            if not quiet and verdict.get("timed"):
                verdict["verdict"] = "not resolved"

    def save(self, cut=None):
        """Writes both files; says whether the machine was quiet enough for figures to be quoted.
        `cut`: why the bench did not come to its end."""
        told = self.watch.told()
        quiet = machine.quiet(told)
        self.data["disturbance"] = dict(told, quiet=quiet)
        self.judge(quiet)
        if self.lines[-1]:
            self.say()
        if cut:
            self.data["cut"] = cut
            self.say(f"NOT FINISHED: {cut}")
        state = "quiet" if quiet else "NOT QUIET: no timing of this run counts, all are not resolved"
        self.say(
            f"The machine was {state} (busy before: {told['busy_before']:.1%}, "
            f"others meanwhile: {told['others']:.1%}, stolen: {told['steal']:.1%})."
        )
        stamp = self.data["started"].replace(":", "").replace("-", "")
        path = os.path.join(RESULTS, f"{stamp}-{self.name}")
        with open(path + ".json", "w") as file:
            json.dump(self.data, file, indent=1)
            file.write("\n")
        with open(path + ".txt", "w") as file:
            file.write("\n".join(self.lines) + "\n")
        print(f"Written: {os.path.relpath(path)}.json and .txt")


def number_text(value):
    """Three to four significant digits, without an exponent."""
    if value == 0 or (float(value).is_integer() and abs(value) >= 1):
        return f"{value:,.0f}"
    digits = max(0, 3 - len(str(int(abs(value)))) + (1 if abs(value) < 1 else 0))
    return f"{value:,.{min(4, digits + (1 if abs(value) < 0.1 else 0))}f}"


def interval_text(interval, unit=""):
    middle = f"{number_text(interval['median'])}{unit}"
    if interval["low"] is None:
        return f"{middle} (n = {interval['n']}: too few for an interval)"
    left_out = f", {interval['left_out']} left out" if interval.get("left_out") else ""
    return (
        f"{middle} ({number_text(interval['low'])} to {number_text(interval['high'])}, "
        f"{interval['coverage']:.0%} of {interval['n']}{left_out})"
    )
