"""Servers that are restarted under load, and what became of the requests. For the flow tests, which
restart a few times, and for script/soak-restarts, which does it often."""

import signal

from lib.callers import Asking
from lib.proxies import Proxy
from lib.server import Server, free_port, plan, wait_for
from lib.wire import get

# Some ask at once, some leave their connection idle for a moment; behind these are connections that
# are fresh, in use, and just used when the end comes.
FRESH_US = (0, 300)
KEPT_US = (0, 300, 20000, 300000)
BUSY_ANSWERS = 100


def arguments(host, ports):
    where = "[%s]:%d" if ":" in host else "%s:%d"
    return ["--listen", where % (host, ports[0]), "--admin", where % (host, ports[1])]


def decisions(server):
    for line in get(server.operations, "/metrics").body.decode().splitlines():
        if line.startswith('interlude_http_requests_total{code="200"}'):
            return float(line.split()[1])
    return 0


def wait_busy(*servers):
    """Callers use each of them. They may be slow, where everything is: that is nobody's fault."""
    goals = [(server, decisions(server) + BUSY_ANSWERS) for server in servers]
    wait_for(lambda: all(decisions(server) >= goal for server, goal in goals), 30, "callers")


def check(test, reports):
    """Whatever else was counted: nothing was lost, and no answer was another than 200."""
    for name, report in reports.items():
        test.assertGreater(report["answered"], 0, name)
        test.assertEqual((report["lost"], report["status"]), (0, {}), "%s: %s" % (name, report))


class Restarts:
    """One server, or two behind a proxy. `restart` is a call of its own so that a test can do
    something in between."""

    def __init__(self, drain, count=1, host="127.0.0.1"):
        self.drain, self.host = drain, host
        self.ports = [(free_port(), free_port()) for _ in range(count)]
        self.servers = [self.start(i) for i in range(count)]

    def start(self, i):
        return Server(plan(server="workers: 2, drain: " + self.drain),
                      args=arguments(self.host, self.ports[i]))

    def restart(self, i=0):
        """All are in use before it: nobody is kept up by one that was restarted before, with
        connections to this one that go idle in the meantime."""
        wait_busy(*self.servers)
        self.servers[i].signal(signal.SIGTERM)
        code = self.servers[i].wait_exit(30)
        assert code == 0, self.servers[i].errors()
        self.servers[i].close()
        self.servers[i] = self.start(i)

    def close(self):
        for server in self.servers:
            server.close()


def direct(drain, times, host="127.0.0.1", callers=25):
    """Callers on fresh connections, callers on kept ones, and scrapes, of one server."""
    restarts = Restarts(drain, host=host)
    server = restarts.servers[0]
    asking = {}
    try:
        asking = {
            "fresh": Asking(server.decisions, callers, FRESH_US),
            "kept": Asking(server.decisions, callers, KEPT_US, keep=True),
        }
        for _ in range(times):
            restarts.restart()
        wait_busy(restarts.servers[0])
        return {name: a.finish() for name, a in asking.items()}
    finally:
        for a in asking.values():
            a.kill()
        restarts.close()


def behind(name, keep, drain, times, callers=50):
    """Two servers behind a proxy, of which one is restarted after the other."""
    restarts = Restarts(drain, count=2)
    proxy = asking = None
    try:
        proxy = Proxy(name, [ports[0] for ports in restarts.ports], keep)
        asking = Asking(proxy.address, callers, FRESH_US)
        for i in range(times):
            restarts.restart(i % 2)
        wait_busy(*restarts.servers)
        return {"behind": asking.finish()}
    finally:
        if asking:
            asking.kill()
        if proxy:
            proxy.close()
        restarts.close()
