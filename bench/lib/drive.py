"""Traffic. wrk, a closed loop, for what a request costs when a server has all it can do; never for
latency: it stops asking while it waits, and so asks least when answers take longest. interlude-lab
load, an open loop, for the rest."""

import json
import os
import subprocess

from .process import BenchError
from .targets import HERE, REQUEST


def saturate(bench, target, seconds, connections=64, body=REQUEST, vary=False):
    """As many requests as the target answers: {"requests", "seconds", "rate", "cpu_us"}, cpu_us
    being the target's whole CPU, in microseconds a request. Any answer but 2xx is an error."""
    return saturate_together(bench, {0: target}, seconds, connections, body, vary)[0]


def saturate_together(bench, targets, seconds, connections=64, body=REQUEST, vary=False):
    """The same of several targets {name: target} at once, with so many connections to each:
    whatever the machine does, it does to all. {name: as `saturate`}."""
    env = dict(os.environ, BENCH_BODY=body)
    if vary:
        env["BENCH_VARY"] = "1"
    command = ["taskset", "-c", str(bench.client_core), "wrk", "-t1", f"-c{connections}"]
    command += [f"-d{max(1, round(seconds))}s", "-s", os.path.join(HERE, "lib", "wrk.lua")]
    before = {name: target.cpu_s() for name, target in targets.items()}
    running = {
        name: bench.scope.start(
            command + [target.url],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, target in targets.items()
    }
    ran = {name: popen.communicate() for name, popen in running.items()}
    return {
        name: wrk_result(target, running[name], ran[name], target.cpu_s() - before[name])
        for name, target in targets.items()
    }


def wrk_result(target, ran, told, used):
    out, err = told
    lines = [line for line in out.splitlines() if line.startswith("RESULT ")]
    if ran.returncode or not lines:
        raise BenchError(f"wrk against {target.name}: {err or out}")
    result = json.loads(lines[0][len("RESULT ") :])
    if result["errors"] or not result["requests"]:
        raise BenchError(f"{target.name}: {result['errors']} of {result['requests']} failed")
    result["rate"] = result["requests"] / result["seconds"]
    result["cpu_us"] = used / result["requests"] * 1e6
    return result


def bodies_file(bench, body):
    """The body as interlude-lab takes it. It leaves out white space between tokens, so the
    session's id is lengthened until as many bytes are sent."""
    with open(body, "rb") as file:
        text = file.read()
    request = json.loads(text)

    def line():
        return json.dumps(request, separators=(",", ":"))

    request["session_id"] += "0" * (len(text) - len(line()))
    path = os.path.join(bench.directory, os.path.basename(body) + "l")
    with open(path, "w") as file:
        file.write(f'{{"weight":1,"body":{line()}}}\n')
    return path


def generator_of(told):
    """Of interlude-lab load's summary: whether the generator was the bottleneck, and which
    percentiles are the target's all the same."""
    carries = told["generator"]["carries"]
    return {
        "bottleneck": told["generator"]["bottleneck"],
        "carries": {name.replace("_ns", "_us"): value for name, value in carries.items()},
    }


def lab_load(bench, targets, rate, seconds, arguments):
    """interlude-lab load's summary. On its core it goes before the collectors and the threads that
    write the logs, where the kernel lets it."""
    command = ["nice", "-n", "-15", "taskset", "-c", str(bench.client_core)]
    command += [bench.program("interlude-lab"), "load", *(target.url for target in targets)]
    command += ["--rate", str(rate), "--duration", f"{seconds:g}s", "--json", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True)
    if not ran.stdout.startswith("{"):
        names = ", ".join(target.name for target in targets)
        raise BenchError(f"interlude-lab load against {names}: {ran.stderr or ran.stdout}")
    return json.loads(ran.stdout)


def load_run(bench, targets, rate, seconds, connections, body):
    """One run of interlude-lab load: its summary, and the CPU seconds of each target."""
    before = [target.cpu_s() for target in targets]
    arguments = ["--connections", str(connections), "--body", bodies_file(bench, body)]
    told = lab_load(bench, targets, rate, seconds, arguments)
    return told, [target.cpu_s() - cpu for target, cpu in zip(targets, before)]


def result_of(target, result, used, told):
    if result["p999_ns"] is None:
        raise BenchError(
            f"{target.name}: only {result['answered']} of {result['due']} requests were answered: "
            f"{result['errors']}, {result['unsent']} not sent"
        )
    return {
        "rate": result["answers_per_second"],
        "cpu_us": used / result["answered"] * 1e6,
        **{f"{p}_us": result[f"{p}_ns"] / 1000 for p in ("p50", "p99", "p999")},
        "answered": result["answered"],
        "failed": result["due"] - result["answered"],
        **generator_of(told),
    }


def load(bench, target, rate, seconds, connections=64, body=REQUEST):
    """`rate` requests a second, due when they are due: {"rate", "cpu_us", "p50_us", "p99_us",
    "p999_us", "bottleneck", "carries"}. Latencies count from when a request was due. `bottleneck`:
    the generator itself held up; `carries`: which percentiles are the target's all the same."""
    told, used = load_run(bench, [target], rate, seconds, connections, body)
    return result_of(target, told["targets"][0], used[0], told)


def load_together(bench, targets, rate, seconds, connections=64, body=REQUEST):
    """The same of several targets {name: target} at once, which take turns request by request and
    share rate and connections: whatever the machine does, it does to all. {name: as `load`}."""
    each = list(targets.values())
    told, used = load_run(bench, each, rate, seconds, connections // len(each), body)
    return {
        name: result_of(targets[name], result, cpu, told)
        for name, result, cpu in zip(targets, told["targets"], used)
    }
