"""The machine a figure was taken on, and whether it was quiet: figures without these are
rumours."""

import os
import platform
import resource
import time

from .process import cpu_s


def first_of(path, key=None):
    try:
        with open(path) as file:
            for line in file:
                if key is None:
                    return line.strip()
                name, _, value = line.partition(":")
                if name.strip() == key:
                    return value.strip()
    except OSError:
        pass
    return None


def describe():
    return {
        "cpu": first_of("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "hypervisor": "hypervisor" in (first_of("/proc/cpuinfo", "flags") or "").split(),
        "governor": first_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "clocksource": first_of("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "memory": first_of("/proc/meminfo", "MemTotal"),
    }


def times():
    """(busy, stolen, all) seconds of all cores since start."""
    with open("/proc/stat") as file:
        ticks = [int(field) for field in file.readline().split()[1:9]]
    hz = os.sysconf("SC_CLK_TCK")
    user, nice, system, idle, iowait, irq, softirq, steal = ticks
    busy = user + nice + system + irq + softirq
    return busy / hz, steal / hz, (busy + idle + iowait + steal) / hz


def own_s():
    """CPU seconds of this bench and everything it started, ended or not."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return cpu_s(os.getpid()) + ended.ru_utime + ended.ru_stime


class Watch:
    """Measures how busy the machine was before a bench began, and what others, on the machine or
    beside it on the hypervisor, took while it ran."""

    def __init__(self, seconds=1.0):
        before = times()
        time.sleep(seconds)
        self.start, self.own = times(), own_s()
        self.busy_before = (self.start[0] - before[0]) / max(self.start[2] - before[2], 1e-9)

    def told(self):
        busy, stolen, whole = (now - then for now, then in zip(times(), self.start))
        whole = max(whole, 1e-9)
        return {
            "busy_before": round(self.busy_before, 3),
            "others": round(max(0, busy - (own_s() - self.own)) / whole, 3),
            "steal": round(stolen / whole, 4),
        }


def quiet(told):
    return told["busy_before"] <= 0.05 and told["others"] <= 0.05 and told["steal"] <= 0.01
