"""script/soak-restarts."""

import argparse
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import restarts, server  # noqa: E402

ROW = "%-30s %5s %8s %9s %8s %6s %6s %6s  %s"


def cases(times):
    for drain in "1s", "0s":
        yield "direct", drain, lambda drain=drain: restarts.direct(drain, times, callers=50)
        for name in "nginx", "haproxy":
            for keep in False, True:
                yield ("behind %s, %s" % (name, "kept" if keep else "not kept"), drain,
                       lambda name=name, keep=keep, drain=drain:
                       restarts.behind(name, keep, drain, times))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=server.BINARY)
    parser.add_argument("times", type=int)
    arguments = parser.parse_args()
    server.BINARY = os.path.abspath(arguments.binary)
    restarts.BUSY_ANSWERS = 2000  # before each restart
    print(ROW % ("callers", "drain", "restarts", "answered", "refused", "lost", "raced", "late",
                 "other answers"))
    failed = 0
    began = time.monotonic()
    for what, drain, run in cases(arguments.times):
        for callers, r in run().items():
            name = "%s, %s" % (what, callers) if what == "direct" else what
            other = ", ".join("%s: %d" % pair for pair in r["status"].items()) or "none"
            print(ROW % (name, drain, arguments.times, r["answered"], r["refused"], r["lost"],
                         r["raced"], r["late"], other), flush=True)
            for fault in r["faults"]:
                print("    " + fault)
            failed += r["lost"] + sum(r["status"].values())
    print("%d lost or not answered with 200, in %d s" % (failed, time.monotonic() - began))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
