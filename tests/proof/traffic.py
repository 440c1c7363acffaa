"""Requests of every kind, for the plan that lies beside this file: what callers send, what they get
wrong, and what connections go through. Whether it is every kind is checked, not believed: see
kinds_missing()."""

import copy
import re
import socket
import time

from lib.wire import Closed, Connection, get, request

WORKERS = 2
# What all connections of everything() that are open together can need of one size, should they be
# one worker's: each of the four that do not read one for what they ask and one for the answer, each
# of the four that are slow one, and one that grows two.
BUFFERS = 4 * 2 + 4 + 2
VARIANTS = ["control", "narrow", "random", "excluding", "prior", "stale", "used", "best", "small"]
SESSION = {"elapsed_s": 1830, "tracks_played": 9, "seconds_since_last_break_end": 915,
           "breaks_in_session": 1, "ads_last_hour": 2, "ad_seconds_last_hour": 55, "ads_today": 3,
           "content_remaining_s": 600, "at_content_boundary": True, "tenure_days": 30,
           "tier": "free", "genre": "pop", "affinity": 0.25, "skips": 0, "offline": False}
BETA = {"none": {"alpha": 20, "beta": 80}, "pod_1": {"alpha": 25, "beta": 75},
        "pod_2": {"alpha": 30, "beta": 70}, "pod_3": {"alpha": 22, "beta": 78}}
NOW = "2026-11-30T08:00:00Z"


def family(**parameters):
    return {action: dict(parameters) for action in BETA}


def beta(**more):
    """Beta posteriors, but for `more`; those that are ... are left out."""
    out = {**copy.deepcopy(BETA), **more}
    return {action: value for action, value in out.items() if value is not ...}


POSTERIORS = [
    beta(), family(mean=0.5, variance=2), family(mu=0.5, alpha=2, beta=3, **{"lambda": 1}),
    family(shape=2, rate=3), family(alpha=1e-3, beta=3e-3), family(alpha=0.2, beta=0.4),
    family(alpha=5e6, beta=7e6), family(shape=0.01, rate=1e-5),
    None, {}, 3, "none", [], {"pod_9": BETA["none"]},
    beta(pod_1=...), beta(none=...), beta(pod_3=None), beta(pod_2={}),
    beta(pod_1={"alpha": -1, "beta": 2}), beta(pod_1=7), beta(pod_2={"alpha": 1}),
    beta(pod_3={"mean": 0, "variance": 1}), beta(none={"alpha": 1, "beta": 2, "gamma": 3}),
    beta(pod_9=BETA["none"]), beta(pod_9=1, pod_8=2, pod_1=..., pod_2={"alpha": 0, "beta": 1}),
    family(mean=0, variance=1) | {"pod_2": None}, {"none": BETA["none"]}, {"pod_1": BETA["pod_1"]},
    {"pod_1": {"mean": 0, "variance": 1}},
    beta(**{"x" * 100: 1, "\u00e9\n": 2, "a": 3, "b": 4, "c": 5}),
]

SESSIONS = [{**SESSION, name: value} for name, values in {
    "elapsed_s": [10, None, -1, "x", 12.5], "tracks_played": [0, 2.5, True, 1e300],
    "seconds_since_last_break_end": [60, None, "long"], "breaks_in_session": [0, -3],
    "ads_last_hour": [6, 7, 8, None], "ad_seconds_last_hour": [200, 240, None],
    "ads_today": [38, 40, None], "content_remaining_s": [20, 0, 45, None],
    "at_content_boundary": [False, None, 1], "tenure_days": [3, None],
    "tier": ["premium", 5, None], "genre": ["news", "n" * 257, None],
    "affinity": [0.9, "high", None], "skips": [4, None, "many"], "offline": [True, "no"]}.items() for value in values] + [None, {}]

# Answered with an error, after which the connection goes on.
REFUSED = [request(body=body) for body in (
    b"", b"{", b"nul", b"{}x", b'{"a":1,}', b"\xef\xbb\xbf{}", b'{"a":"\xff"}', b'{"a":"\\ud800"}',
    b"[" * 40, b'{"session":' + b"[" * 33, b'{"request_id":"a","request_id":"b"}',
    {"request_id": 3}, {"request_id": "x" * 129}, {"session": 7}, {"time": "yesterday"},
    {"posteriors_as_of": "2026-02-30T00:00:00Z"}, {"explain": "yes"}, {"last": 1},
    {"last": []}, {"variant": 5}, {"variant": "v" * 65}, {"opportunities": []},
    [], "text")] + [
        request(path="/nothing", body={}), request(path="/metrics", method="GET"),
        request(path="/v1/decide?x=%25", body={"request_id": "q"}), request(method="GET"),
        request(method="HEAD"), request(method="DELETE"),
        request(body={}, content_type="text/plain")]

# No request for a decision: whether it wants any, and what may be asked.
OTHERS = [request("/readyz", method="GET"), request("/readyz", method="HEAD"),
          request(method="OPTIONS"), request("*", method="OPTIONS")]

# After these the server ends the connection.
ENDING = [
    request(method="BREW", body={}), request(), request(body={}, version="HTTP/1.0"),
    request(body={}, fields=[("Connection", "close")]), request(body={}, host=None),
    request(body={}, version="HTTP/2.0"), request(body={}, fields=[("Content-Length", "3")]),
    request(body={}, fields=[("Transfer-Encoding", "chunked")]),
    request(body={}, fields=[("Transfer-Encoding", "gzip")]),
    b"nonsense\r\n\r\n", b"\x16\x03\x01\r\n\r\n",
    request(body={}).replace(b"\r\n", b"\n"), request(body={}, fields=[("Bad name", "x")]),
    request(body={}, fields=[("Expect", "200-maybe")]), request(body={}, host="[::g]"),
    request(body=b"x" * 70000), request(body={}, fields=[("X-Long", "y" * 20000)]),
    request(path="/" + "p" * 20000, body={}), request("https://localhost/v1/decide", {}),
    request(body=b"", length=False, fields=[("Transfer-Encoding", "chunked")]) + b"2;=x\r\n{}",
    request(body=b"", length=False, fields=[("Transfer-Encoding", "chunked")]) + b"zz\r\n",
]


def decide_bodies():
    """Every body that gets a decision."""
    base = {"request_id": "r", "segment_id": "core", "unit_id": "u-1", "session": SESSION,
            "time": NOW}
    for variant in VARIANTS:
        for posteriors in POSTERIORS:
            yield {**base, "variant": variant, "posteriors": posteriors}
        for session in SESSIONS:
            yield {**base, "variant": variant, "posteriors": BETA, "session": session}
        for as_of in "2026-11-30T07:59:00Z", "2026-11-29T00:00:00+02:00":
            for posteriors in BETA, beta(pod_1=...), beta(pod_1=3), None:
                yield {**base, "variant": variant, "posteriors": posteriors,
                       "posteriors_as_of": as_of}
        yield {**base, "variant": variant, "posteriors": BETA, "explain": True}
        yield {**base, "variant": variant, "posteriors": beta(pod_2=...), "explain": True}
    for last in ({"seconds_ago": 10, "cooldown_s": 600, "ads_delivered": 2},
                 {"seconds_ago": 700, "cooldown_s": 600, "ads_delivered": 0},
                 {"seconds_ago": 10}, {"cooldown_s": 600}, {"seconds_ago": -1, "cooldown_s": 600},
                 {"seconds_ago": "10", "cooldown_s": 1e12, "ads_delivered": -1}, {}, None):
        yield {**base, "posteriors": BETA, "last": last}
    for variant in "nobody", "\u00e9" * 20, "", None:
        for session in SESSION, {"tier": 5}:
            yield {**base, "variant": variant, "session": session, "explain": variant == "nobody"}
    for i in range(60):
        yield {**base, "unit_id": "u-%d" % i, "posteriors": BETA}
    for segment in "new", "casual", "heavy", "other", "vip \u00e9 \\ \" \u0001", None, "":
        yield {**base, "segment_id": segment, "posteriors": BETA}
    yield from explain_bodies()
    yield {}
    yield {"unit_id": None, "session_id": "s" * 256, "tmax_ms": 20, "request_id": "x" * 128}
    yield {"unit_id": "u-3", "more": {"deep": [[1, 2, {"x": [1e10, "\U0001f3b5"]}]],
                                      "pad": "z" * 3000}}


def explain_bodies():
    base = {"segment_id": "core", "session": SESSION, "time": NOW, "explain": True}
    for unit in None, *("u-%d" % i for i in range(20)):
        yield {**base, "unit_id": unit, "posteriors": BETA}
    for session in SESSIONS:
        yield {**base, "variant": "control", "session": session}
    for variant in VARIANTS:
        for posteriors in POSTERIORS:
            yield {**base, "variant": variant, "posteriors": posteriors}


def lasting_requests():
    """What one connection can be asked one after the other."""
    return [request(body=body) for body in decide_bodies()] + REFUSED + OTHERS


# ---- bulk: answers are counted, not read ---------------------------------------------------------

STATUS = re.compile(rb"HTTP/1\.1 ([2-5]\d\d) ")


BATCH = 64


def bulk(connection, requests, batch=BATCH):
    """Sends them, `batch` at a time in one piece, and waits for as many answers. Returns the
    statuses with how often each came."""
    statuses = {}
    for at in range(0, len(requests), batch):
        some = requests[at:at + batch]
        connection.send(b"".join(some))
        want, got, answers = len(some), 0, b""
        while got < want or not complete(answers):
            more = connection.socket.recv(1 << 18)
            assert more, "the connection ended after %d of %d answers" % (got, want)
            answers += more
            got = len(STATUS.findall(answers))
        assert got == want, "%d answers to %d requests" % (got, want)
        for status in STATUS.findall(answers):
            statuses[int(status)] = statuses.get(int(status), 0) + 1
    return statuses


def complete(answers):
    """Whether the last answer is there to its end."""
    begin = answers.rfind(b"HTTP/1.1 ")
    head = answers.find(b"\r\n\r\n", begin)
    if begin < 0 or head < 0:
        return False
    if answers.startswith(b"HTTP/1.1 204 ", begin):
        return True
    length = re.search(rb"\r\ncontent-length: *(\d+)", answers[begin:head].lower())
    return len(answers) - head - 4 >= int(length[1])


# ---- connections --------------------------------------------------------------------------------


def ended(connection):
    """Reads until the server has ended the connection. Returns all that it said."""
    said = b""
    try:
        while True:
            more = connection.socket.recv(65536)
            if not more:
                return said
            said += more
    except ConnectionError:
        return said


def send_all_or_be_refused(connection, data):
    try:
        connection.send(data)
    except ConnectionError:
        pass


def in_pieces(address):
    whole = request(body={"request_id": "pieces", "session": SESSION,
                          "posteriors": beta(pod_1=...)})
    big = request(body=b'{"request_id":"big","x":"' + b"y" * 60000 + b'"}')
    chunks = request(body=b"", length=False, fields=[("Transfer-Encoding", "chunked")]) + \
        b'1\r\n{\r\n12;ext="a b"\r\n"request_id":"ch"}\r\n0\r\nTrailer: x\r\n\r\n'
    expecting = request(body={"request_id": "e"}, fields=[("Expect", "100-continue")])
    expecting, body = expecting.split(b"{")
    with Connection(address, seconds=60) as c:
        for parts in ([whole[i:i + 40] for i in range(0, len(whole), 40)],
                      [whole + whole[:30], whole[30:]], [big[:50000], big[50000:]],
                      [big[i:i + 4000] for i in range(0, len(big), 4000)],
                      [chunks], [chunks[i:i + 9] for i in range(0, len(chunks), 9)],
                      [big]):
            c.send_slowly(parts, 0.0003)
            for _ in range(2 if parts[0].startswith(whole) else 1):
                assert c.answer().status == 200
        c.send(expecting)
        assert c.answer().status == 100
        c.send(b"{" + body)
        assert c.answer().status == 200


ANSWER_BYTES_MIN = 1000  # of one with an explanation


def send_buffer_max():
    with open("/proc/sys/net/ipv4/tcp_wmem") as file:
        return int(file.read().split()[2])


def taken(sock, data):
    """How many bytes of them the peer takes before it takes no more."""
    sock.settimeout(0.05)
    view, sent = memoryview(data), 0
    try:
        while sent < len(data):
            sent += sock.send(view[sent:sent + 65536])
    except socket.timeout:
        pass
    return sent


def not_read(address):
    """A client that asks and does not take the answers, then does; and one that never does."""
    one = request(body={"request_id": "n", "explain": True, "posteriors": BETA})
    late, never = [Connection(address, seconds=60, receive_buffer=4096) for _ in range(2)]
    # Twice what the kernel keeps of answers, so that the last ones come only if the server goes on.
    many = one * (2 * send_buffer_max() // ANSWER_BYTES_MIN)
    asked = [taken(c.socket, many) for c in (late, never)]
    late.socket.settimeout(60)
    for _ in range(asked[0] // len(one)):
        assert late.answer().status == 200
    late.close()
    return never


def broken_off(address):
    whole = request(body={"request_id": "x", "session": SESSION})
    for data in b"", whole[:20], whole[:-5], whole, whole + whole[:30]:
        for way in Connection.close, Connection.reset, Connection.half_close:
            with Connection(address, seconds=60) as c:
                send_all_or_be_refused(c, data)
                way(c)
                if way is Connection.half_close:
                    ended(c)


def too_slow(address):
    """Four connections, each of which runs into a limit of time."""
    whole = request(body={"request_id": "slow"})
    slow = [Connection(address, seconds=60) for _ in range(4)]
    for c, data in zip(slow, (b"", whole[:10], whole[:-3], whole)):
        c.send(data)
    return slow


def add(statuses, more):
    for status, count in more.items():
        statuses[status] = statuses.get(status, 0) + count


SPREAD_REQUESTS, SPREAD_CONNECTIONS_MAX = 50, 16


def one_a_worker(server):
    """A connection of each worker, in their order. Two that are opened one after the other are two workers' only where
    no worker still has to notice that an older one was closed: so it is seen who receives."""
    found, others = {}, []
    while len(found) < WORKERS:
        assert len(others) < SPREAD_CONNECTIONS_MAX, "connections are not spread"
        c = Connection(server.decisions, seconds=60)
        before = [w.receives for w in server.workers()]
        for _ in range(SPREAD_REQUESTS):
            c.send(request(body={}))
            assert c.answer().status == 200
        grown = [w.receives - was for w, was in zip(server.workers(), before)]
        assert max(grown) >= SPREAD_REQUESTS, grown
        worker = grown.index(max(grown))
        if worker in found:
            others.append(c)
        else:
            found[worker] = c
    for c in others:
        c.close()
    return [found[worker] for worker in sorted(found)]


def everything(server, loops=1):
    """All of it, on each worker of a server that is watched. Returns {status: answers} of what was
    counted."""
    statuses, requests, address = {}, lasting_requests(), server.decisions
    lasting = one_a_worker(server)
    late = [c for _ in range(WORKERS) for c in too_slow(address)]
    late += [not_read(address) for _ in range(WORKERS)]
    for one in requests:
        for c in lasting:
            c.send(one)
        for i, c in enumerate(lasting):
            try:
                status = c.answer(to_head=one.startswith(b"HEAD")).status
            except Closed:  # the machine stood still for longer than a connection may be idle
                lasting[i] = one_a_worker(server)[i]
                lasting[i].send(one)
                status = lasting[i].answer(to_head=one.startswith(b"HEAD")).status
            add(statuses, {status: 1})
    requests = [one for one in requests if not one.startswith(b"HEAD")]
    for c in lasting * loops:
        add(statuses, bulk(c, requests))
    for c in lasting:
        c.close()
    for data in ENDING * WORKERS:
        with Connection(address, seconds=60) as c:
            send_all_or_be_refused(c, data)
            add(statuses, {int(status): 1 for status in STATUS.findall(ended(c))})
    for _ in range(WORKERS):
        in_pieces(address)
        broken_off(address)
    for c in late:
        c.socket.settimeout(60)
        ended(c)
        c.close()
    return statuses


def warm_buffers(address, received):
    """Makes each worker hold, BUFFERS times at once, a buffer of every size that a connection may
    need. `received()`: how often the workers have received so far: a step is over when all have."""
    body = b'{"request_id":"warm","x":"' + b"y" * 65000 + b'"}'
    whole = request(body=body)
    connections = [Connection(address, seconds=60) for _ in range(BUFFERS * WORKERS)]
    begin = 0
    for end in 500, 2500, 15000, 40000, 63600, 64000, 64500, len(whole):
        for c in connections:
            before = received()
            c.send(whole[begin:end])
            limit = time.monotonic() + 30
            while received() == before:
                assert time.monotonic() < limit, "nothing is received"
                time.sleep(0.0002)
        begin = end
    for c in connections:
        assert c.answer().status == 200
        c.close()


# ---- is it every kind? --------------------------------------------------------------------------

# What these labels can say, a request must have shown: {metric: (label, values not meant)}.
SHOWN = {
    "interlude_http_requests_total": ("code", {
        "401", "403", "422",  # the operations port's
        "500",  # answers that are longer than answers can be: there is none
        "503"}),  # without a worker (acceptor), or without memory
    "interlude_posteriors_total": ("status", set()),
    "interlude_state_total": ("status", set()),
    "interlude_assignments_total": ("assignment", set()),
    "interlude_guardrail_total": ("guardrail", set()),
    "interlude_fallback_total": ("reason", set()),
    "interlude_missing_posteriors_total": ("missing_action", set()),
    "interlude_attribute_unknown_total": ("why", set()),
    "interlude_decisions_total": ("action", set()),
}
# Of signals, those that a request can fire: the ones whose opportunity is a request.
REQUEST_SIGNALS = re.compile("posteriors_|session_|unknown_")


def shown(address):
    """{(metric, value of its label): total}"""
    totals = {}
    for line in get(address, "/metrics").body.decode().splitlines():
        match = re.match(r"(\w+)\{(.*)\} (\S+)$", line)
        if not match:
            continue
        name, labels = match[1], dict(re.findall(r'(\w+)="([^"]*)"', match[2]))
        if name in SHOWN:
            label, never = SHOWN[name]
            keys = [] if labels[label] in never else [(name, labels[label])]
            if name == "interlude_decisions_total":
                keys.append((name, labels["variant"]))
        elif name == "interlude_signal_fired_total" and REQUEST_SIGNALS.match(labels["signal"]):
            keys = [(name, labels["signal"])]
        else:
            continue
        for key in keys:
            totals[key] = totals.get(key, 0) + float(match[3])
    return totals


EXPLAINED = re.compile(r'(?:put_text|put_set|put_set_if)\(b, (?:plan, )?"(\w+)"|json_write_key\(b, SPAN\("(\w+)"|'
                       r'\\"(\w+)\\":')


def members_of(value):
    if isinstance(value, dict):
        return set(value).union(*map(members_of, value.values()))
    return set().union(*map(members_of, value)) if isinstance(value, list) else set()


def explanations_missing(address, source):
    """Members of explanations, as explain.c names them, that no answer has shown."""
    with open(source) as file:
        named = {a or b or c for a, b, c in EXPLAINED.findall(file.read())}
    with Connection(address, seconds=60) as c:
        for body in explain_bodies():
            c.send(request(body=body))
            named -= members_of(c.answer().json())
    return sorted(named)


def kinds_missing(before, after):
    """What can happen to a request and has not, between two shown()s."""
    return sorted("%s: %s" % key for key in after if after[key] <= before.get(key, 0))


