"""The decision port: HTTP/1.1 with keep-alive, pipelining, chunks and expectations."""

import email.utils
import time
import unittest

from lib.server import Server, plan
from lib.wire import Closed, Connection, ask, decide, get, request


class Http(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(plan())

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def connect(self, **more):
        c = Connection(self.server.decisions, **more)
        self.addCleanup(c.close)
        return c

    def assert_well(self):
        self.assertEqual(ask(self.server.decisions, decide()).status, 200)

    def test_decision(self):
        a = ask(self.server.decisions, decide("r-1", segment_id="core"))
        self.assertEqual((a.status, a.field("Content-Type")), (200, "application/json"))
        self.assertEqual(a.json()["request_id"], "r-1")
        self.assertEqual(a.json()["action"], "pod_1")
        self.assertEqual(a.json()["decided_at"], "2026-11-30T08:00:00.000Z")

    def test_id_is_made_up_and_differs(self):
        c = self.connect()
        c.send(request(body={}) * 2)
        first, second = c.answer().json(), c.answer().json()
        self.assertRegex(first["request_id"], "^[0-9a-f]{16,}$")
        self.assertNotEqual(first["request_id"], second["request_id"])

    def test_time_is_the_clocks(self):
        decided_at = ask(self.server.decisions, request(body={})).json()["decided_at"]
        self.assertTrue(decided_at.startswith(time.strftime("%Y-%m-", time.gmtime())))

    def test_keep_alive(self):
        c = self.connect()
        for i in range(20):
            c.send(decide("r-%d" % i))
            self.assertEqual(c.answer().json()["request_id"], "r-%d" % i)
        self.assertTrue(c.is_open())

    def test_pipelined_in_order(self):
        for count in 2, 3, 40:
            with self.subTest(count=count):
                c = self.connect()
                c.send(b"".join(decide("r-%d" % i) for i in range(count)))
                got = [c.answer().json()["request_id"] for _ in range(count)]
                self.assertEqual(got, ["r-%d" % i for i in range(count)])

    def test_pipelined_beyond_every_buffer(self):
        """More requests in one stream than any buffer holds, and their answers alike."""
        c = self.connect(seconds=20)
        count, one = 3000, decide("r")
        c.socket.setblocking(False)
        todo, answers, done = one * count, b"", 0
        end = time.monotonic() + 20
        while done < count and time.monotonic() < end:
            try:
                todo = todo[c.socket.send(todo[:65536]):] if todo else todo
            except BlockingIOError:
                pass
            try:
                answers += c.socket.recv(1 << 20)
            except BlockingIOError:
                time.sleep(0.001)
            done = answers.count(b"HTTP/1.1 200 OK")
        self.assertEqual(done, count)

    def test_pipelined_with_errors_between(self):
        c = self.connect()
        c.send(decide("a") + request(path="/nothing", body={}) + decide("b") + request(body=b"{")
               + decide("c"))
        got = [c.answer() for _ in range(5)]
        self.assertEqual([a.status for a in got], [200, 404, 200, 400, 200])
        self.assertEqual(got[4].json()["request_id"], "c")
        self.assertTrue(c.is_open())

    def test_cut_at_every_byte(self):
        whole = decide("r-cut", segment_id="core")
        expected = ask(self.server.decisions, whole).body
        c = self.connect()
        for at in range(1, len(whole)):
            c.send_slowly([whole[:at], whole[at:]], 0.0015)
            self.assertEqual(c.answer().body, expected, "cut at %d" % at)

    def test_byte_by_byte(self):
        c = self.connect()
        whole = decide("r-bytes") * 2
        c.send_slowly([whole[i:i + 1] for i in range(len(whole))], 0.0005)
        for _ in range(2):
            self.assertEqual(c.answer().json()["request_id"], "r-bytes")

    def test_cut_between_pipelined(self):
        c = self.connect()
        two = decide("a") + decide("b")
        for at in (len(decide("a")) - 1, len(decide("a")), len(decide("a")) + 1):
            c.send_slowly([two[:at], two[at:]])
            self.assertEqual([c.answer().json()["request_id"] for _ in range(2)], ["a", "b"])

    def test_large_body_in_pieces(self):
        body = b'{"request_id":"big","x":"' + b"y" * 60000 + b'"}'
        whole = request(body=body)
        c = self.connect()
        c.send_slowly([whole[i:i + 997] for i in range(0, len(whole), 997)], 0.0002)
        self.assertEqual(c.answer().json()["request_id"], "big")
        c.send(decide("after"))
        self.assertEqual(c.answer().json()["request_id"], "after")

    def test_chunked(self):
        head = request(body=b"", length=False, fields=[("Transfer-Encoding", "chunked")])
        body = b'1\r\n{\r\n12;ext="a b"\r\n"request_id":"ch"}\r\n0\r\nTrailer: x\r\n\r\n'
        self.assertEqual(len(b'"request_id":"ch"}'), 0x12)
        c = self.connect()
        c.send(head + body + decide("next"))
        self.assertEqual(c.answer().json()["request_id"], "ch")
        self.assertEqual(c.answer().json()["request_id"], "next")
        c.send_slowly([(head + body)[i:i + 1] for i in range(len(head + body))], 0.0005)
        self.assertEqual(c.answer().json()["request_id"], "ch")

    def test_half_close_after_the_request(self):
        c = self.connect()
        c.send(decide("a") + decide("b"))
        c.half_close()
        self.assertEqual([a.json()["request_id"] for a in c.answers()], ["a", "b"])

    def test_half_close_in_the_request(self):
        c = self.connect()
        c.send(decide()[:-3])
        c.half_close()
        a = c.answer()
        self.assertEqual((a.status, a.code, a.field("Connection")), (400, "http_syntax", "close"))
        self.assertTrue(c.ended())

    def test_connect_and_close(self):
        for _ in range(20):
            self.connect().close()
        c = self.connect()
        c.half_close()
        self.assertEqual(c.answers(), [])
        self.assert_well()

    def test_reset_in_mid_answer(self):
        for _ in range(5):
            c = self.connect(receive_buffer=4096)
            c.socket.settimeout(0.2)
            try:
                c.send(decide(explain=True) * 5000)
            except OSError:
                pass
            c.reset()
        self.assert_well()

    def test_reset_right_after_the_request(self):
        for _ in range(50):
            c = self.connect()
            c.send(decide())
            c.reset()
        self.assert_well()

    def test_errors_of_the_edge(self):
        """What is wrong, what is told, and whether the connection goes on."""
        json_type = [("Content-Type", "application/json")]
        rows = [
            ("unknown path", request("/v1/decid", {}), 404, "unknown_path", True),
            ("root", request("/", None, "GET"), 404, "unknown_path", True),
            ("the other port's path", request("/metrics", None, "GET"), 404, "unknown_path", True),
            ("GET", request(method="GET"), 405, "method_not_allowed", True),
            ("PUT", request(body={}, method="PUT"), 405, "method_not_allowed", True),
            ("unknown method", request(method="BREW"), 501, "not_implemented", True),
            ("lower-case method", request(body={}, method="post"), 501, "not_implemented", True),
            ("no length", request(fields=json_type), 411, "length_required", False),
            ("text", request(body={}, content_type="text/plain"), 415,
             "unsupported_media_type", True),
            ("form", request(body=b"a=b", content_type="application/x-www-form-urlencoded"), 415,
             "unsupported_media_type", True),
            ("empty body", request(body=b""), 400, "json_syntax", True),
            ("bad JSON", request(body=b'{"a":}'), 400, "json_syntax", True),
            ("two keys", request(body=b'{"unit_id":"a","unit_id":"b"}'), 400,
             "json_duplicate_key", True),
            ("deep", request(body=b'{"a":' + b"[" * 40 + b"]" * 40 + b"}"), 400,
             "json_depth", True),
            ("type", request(body={"unit_id": 5}), 400, "field_type", True),
            ("range", request(body={"time": "yesterday"}), 400, "field_range", True),
            ("reserved", request(body={"opportunities": []}), 400, "unsupported", True),
            ("body too large", request(body=b" " * 65537), 413, "body_too_large", False),
            ("other expectation", request(body={}, fields=[("Expect", "200-ok")]), 417,
             "expectation_failed", False),
            ("other coding", request(fields=[("Transfer-Encoding", "gzip")]), 501,
             "not_implemented", False),
            ("a longer target than is read", request("/" + "x" * 8192, {}), 414, "uri_too_long",
             False),
            ("for a port with TLS", request("https://localhost/v1/decide", {}), 421,
             "misdirected_request", False),
            ("head too large", request(body={}, fields=[("X", "y" * 17000)]), 431,
             "head_too_large", False),
            ("many fields", request(body={}, fields=[("X%d" % i, "y") for i in range(101)]), 431,
             "head_too_large", False),
        ]
        for name, data, status, code, goes_on in rows:
            with self.subTest(name):
                c = self.connect()
                c.send(data)
                a = c.answer()
                self.assertEqual((a.status, a.code), (status, code))
                self.assertEqual(a.field("Content-Type"), "application/problem+json")
                self.assertEqual(a.json()["status"], status)
                self.assertTrue(a.json()["detail"])
                self.assertEqual(a.field("Allow"), "POST, OPTIONS" if status == 405 else None)
                self.assertEqual(a.field("Connection"), None if goes_on else "close")
                if goes_on:
                    c.send(decide("on"))
                    self.assertEqual(c.answer().json()["request_id"], "on")
                else:
                    self.assertTrue(c.ended())

    def test_head_gets_no_body(self):
        for path, status in (("/v1/decide", 405), ("/nothing", 404)):
            with self.subTest(path):
                c = self.connect()
                c.send(request(path, None, "HEAD") + decide("next"))
                self.assertEqual(c.answer(to_head=True).status, status)
                self.assertEqual(c.answer().json()["request_id"], "next")

    def test_body_of_the_largest_size(self):
        body = b'{"request_id":"max"}'
        body += b" " * (65536 - len(body))
        self.assertEqual(ask(self.server.decisions, request(body=body)).json()["request_id"], "max")

    def test_without_content_type(self):
        untyped = request(body={}, content_type=None)
        self.assertEqual(ask(self.server.decisions, untyped).status, 200)

    def test_query_is_ignored_and_absolute_form(self):
        self.assertEqual(ask(self.server.decisions, request("/v1/decide?a=b", {})).status, 200)
        absolute = request("http://localhost/v1/decide", {})
        self.assertEqual(ask(self.server.decisions, absolute).status, 200)

    def test_a_long_target(self):
        """RFC 9112, 3: at least 8,000 bytes of a request line are read; it was 431 from 4,097 on."""
        for length in 4097, 8000, 8192:
            with self.subTest(length):
                path = "/v1/decide?" + "q" * (length - len("/v1/decide?"))
                self.assertEqual(ask(self.server.decisions, request(path, {})).status, 200)

    def test_http_1_2_is_read_as_1_1(self):
        c = self.connect()
        for version in "HTTP/1.2", "HTTP/1.9":
            c.send(decide(version, version=version))
            self.assertEqual(c.answer().json()["request_id"], version)
        self.assertTrue(c.is_open())

    def test_chunk_extensions(self):
        head = request(body=b"", length=False, fields=[("Transfer-Encoding", "chunked")])
        c = self.connect()
        for extension in b";a", b' ; a = "b;\\"" ;c=d', b"\t;a":
            c.send(head + b'f%s\r\n{"request_id":"\r\n3%s\r\nx"}\r\n0%s\r\n\r\n'
                   % ((extension,) * 3))
            self.assertEqual(c.answer().json()["request_id"], "x", extension)

    def test_options(self):
        c = self.connect()
        for target, allow in (("*", "GET, HEAD, POST, OPTIONS"), ("/", "GET, HEAD, POST, OPTIONS"),
                              ("/v1/decide", "POST, OPTIONS"), ("/readyz", "GET, HEAD, OPTIONS")):
            with self.subTest(target):
                c.send(request(target, None, "OPTIONS"))
                a = c.answer()
                self.assertEqual((a.status, a.field("Allow")), (204, allow))
                self.assertIsNone(a.field("Content-Length"))
        c.send(request("/v1/decide", {}, "OPTIONS") + request("/nothing", None, "OPTIONS"))
        self.assertEqual([c.answer().status, c.answer().status], [204, 404])
        c.send(decide("on"))
        self.assertEqual(c.answer().json()["request_id"], "on")

    def test_origin_is_passed_over(self):
        """Proxies forward a player's. No page is let in by it, either: that takes fields of CORS."""
        origin = [("Origin", "https://player.example")]
        preflight = origin + [("Access-Control-Request-Method", "POST"),
                              ("Access-Control-Request-Headers", "content-type")]
        for data, status in ((decide(fields=origin), 200),
                             (request("/readyz", None, "GET", fields=origin), 200),
                             (request("/nothing", {}, fields=origin), 404),
                             (request("/v1/decide", None, "OPTIONS", fields=preflight), 204),
                             (request("*", None, "OPTIONS", fields=preflight), 204)):
            a = ask(self.server.decisions, data)
            self.assertEqual(a.status, status)
            self.assertEqual([n for n, _ in a.fields if n.lower().startswith("access-control")], [])

    def test_what_may_be_kept(self):
        """Nobody may keep the answer to a POST; of others each says that it is not to be kept."""
        rows = [(decide(), None), (request(body=b"{"), None),
                (request("/readyz", None, "GET"), "no-store"), (request(method="GET"), "no-store"),
                (request("/nothing", None, "GET"), "no-store"),
                (request("*", None, "OPTIONS"), "no-store"), (b"NONSENSE\r\n\r\n", "no-store")]
        for data, control in rows:
            self.assertEqual(ask(self.server.decisions, data).field("Cache-Control"), control, data)

    def test_http_1_0(self):
        rows = [("plain", [], False), ("keep-alive", [("Connection", "keep-alive")], True),
                ("close", [("Connection", "close")], False)]
        for name, fields, goes_on in rows:
            with self.subTest(name):
                c = self.connect()
                c.send(decide("old", fields=fields, version="HTTP/1.0"))
                a = c.answer()
                self.assertEqual(a.json()["request_id"], "old")
                self.assertEqual(a.field("Connection"), "keep-alive" if goes_on else "close")
                self.assertEqual(c.is_open() if goes_on else c.ended(), True)
        c = self.connect()
        c.send(request(body={}, host=None, version="HTTP/1.0"))
        self.assertEqual(c.answer().status, 200)

    def test_connection_close(self):
        c = self.connect()
        c.send(decide("last", fields=[("Connection", "close")]) + decide("never"))
        got = c.answers()
        self.assertEqual([a.json()["request_id"] for a in got], ["last"])
        self.assertEqual(got[0].field("Connection"), "close")

    def test_expect_continue(self):
        whole = decide("exp", fields=[("Expect", "100-continue")])
        head, body = whole.split(b"\r\n\r\n", 1)
        c = self.connect()
        c.send(head + b"\r\n\r\n")
        self.assertEqual(c.answer().status, 100)
        c.send(body)
        self.assertEqual(c.answer().json()["request_id"], "exp")
        self.assertTrue(c.is_open())
        # Where the body is there already, nobody waits to be told to send it.
        c.send(whole)
        self.assertEqual(c.answer().status, 200)

    def test_expect_is_refused_by_the_head(self):
        """The answer is final, and a body that comes all the same is no request."""
        for name, path, fields, status in (
                ("path", "/nothing", [], 404),
                ("length", "/v1/decide", [("Content-Length", "70000")], 413),
                ("expectation", "/v1/decide", [("Expect", "200-ok")], 417)):
            with self.subTest(name):
                expect = [("Expect", "100-continue")] if status != 417 else []
                length = [("Content-Length", "400")] if status != 413 else []
                c = self.connect()
                c.send(request(path, None, fields=fields + expect + length))
                a = c.answer()
                self.assertEqual((a.status, a.field("Connection")), (status, "close"))
                c.send(decide("smuggled"))
                self.assertEqual(c.answers(), [])

    def test_413_in_mid_upload(self):
        """The answer arrives although the client is still sending, and reads it only at the end."""
        piece = b"x" * 65536
        rows = [("length", b"Content-Length: 4000000\r\n\r\n", piece),
                ("chunks", b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + piece + b"\r\n")]
        for name, framing, piece in rows:
            with self.subTest(name):
                c = self.connect()
                c.send(b"POST /v1/decide HTTP/1.1\r\nHost: a\r\n" + framing)
                for _ in range(40):
                    c.send(piece)
                self.assertEqual([a.status for a in c.answers()], [413])

    def test_unread_body_is_no_request(self):
        smuggled = decide("smuggled")
        rows = [
            ("413", request(body=smuggled * 600), 413),
            ("411", request() + smuggled, 411),
            ("417", request(body=smuggled, fields=[("Expect", "x")]), 417),
            ("400", b"POST /v1/decide HTTP/1.1\r\nHost : a\r\n\r\n" + smuggled, 400),
            ("501", request(fields=[("Transfer-Encoding", "gzip")]) + smuggled, 501),
        ]
        for name, data, status in rows:
            with self.subTest(name):
                c = self.connect()
                c.send(data)
                self.assertEqual([a.status for a in c.answers()], [status])

    def test_a_body_that_was_read_is_no_request_either(self):
        c = self.connect()
        c.send(request("/nothing", body=decide("smuggled")) + decide("real"))
        self.assertEqual(c.answer().status, 404)
        self.assertEqual(c.answer().json()["request_id"], "real")
        self.assertTrue(c.is_open())

    def test_body_in_another_coding(self):
        c = self.connect()
        c.send(request(body=b"\x1f\x8b", fields=[("Content-Encoding", "gzip")]))
        a = c.answer()
        self.assertEqual((a.status, a.code), (415, "unsupported_media_type"))
        self.assertIn("Content-Encoding", a.json()["detail"])
        self.assertEqual(a.field("Accept-Encoding"), "identity")
        c.send(decide(fields=[("Content-Encoding", "identity")]))
        self.assertEqual(c.answer().status, 200)

    def test_every_answer_is_dated(self):
        rows = [(decide(), 200), (request("/nothing"), 404), (b"NONSENSE\r\n\r\n", 400)]
        for data, status in rows:
            a = ask(self.server.decisions, data)
            self.assertEqual(a.status, status)
            self.assert_now(a.field("Date"))
        for path in "/healthz", "/metrics", "/nothing":
            self.assert_now(get(self.server.operations, path).field("Date"))

    def assert_now(self, date):
        told = email.utils.parsedate_to_datetime(date)
        self.assertEqual(date, email.utils.format_datetime(told, usegmt=True))
        self.assertLess(abs(told.timestamp() - time.time()), 5)

    def test_silence_after_an_answer(self):
        c = self.connect()
        c.send(decide())
        c.answer()
        self.assertTrue(c.is_open(0.3))
        c.half_close()
        with self.assertRaises(Closed):
            c.answer()
