"""Traffic. wrk, a closed loop, for what a request costs when a server has all it can do; never for
latency: it stops asking while it waits, and so asks least when answers take longest. interlude-lab
load, an open loop, for the rest."""

import json
import os
import subprocess

from .process import BenchError
from .targets import HERE, REQUEST


def saturate(bench, target, seconds, connections=64, body=REQUEST, vary=False):
    """As many requests as the target answers: {"requests", "seconds", "rate", "cpu_us"}, cpu_us being
    the target's whole CPU, in microseconds a request. Any answer but 2xx is an error."""
    env = dict(os.environ, BENCH_BODY=body)
    if vary:
        env["BENCH_VARY"] = "1"
    command = ["taskset", "-c", str(bench.client_core), "wrk", "-t1", f"-c{connections}"]
    command += [f"-d{max(1, round(seconds))}s", "-s", os.path.join(HERE, "lib", "wrk.lua")]
    before = target.cpu_s()
    ran = subprocess.run(command + [target.url], env=env, capture_output=True, text=True)
    used = target.cpu_s() - before
    lines = [line for line in ran.stdout.splitlines() if line.startswith("RESULT ")]
    if ran.returncode or not lines:
        raise BenchError(f"wrk against {target.name}: {ran.stderr or ran.stdout}")
    result = json.loads(lines[0][len("RESULT ") :])
    if result["errors"] or not result["requests"]:
        raise BenchError(f"{target.name}: {result['errors']} errors of {result['requests']} requests")
    result["rate"] = result["requests"] / result["seconds"]
    result["cpu_us"] = used / result["requests"] * 1e6
    return result
