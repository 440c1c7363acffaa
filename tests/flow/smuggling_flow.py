"""What is ambiguous is refused with 400, and with it the connection: nothing after it is read."""

import unittest

from lib.server import Server, plan
from lib.wire import Connection, ask, decide

START = b"POST /v1/decide HTTP/1.1\r\n"
HOST = b"Host: localhost\r\n"
CHUNKED = START + HOST + b"Transfer-Encoding: chunked\r\n\r\n"


def length(value):
    return START + HOST + b"Content-Length: " + value + b"\r\n\r\n{}"


def fields(lines):
    return START + HOST + lines + b"Content-Length: 2\r\n\r\n{}"


REFUSED = [
    ("two lengths", fields(b"Content-Length: 3\r\n")),
    ("two equal lengths", fields(b"Content-Length: 2\r\n")),
    ("length list", length(b"2, 2")),
    ("length list of different ones", length(b"2, 3")),
    ("length and chunks", fields(b"Transfer-Encoding: chunked\r\n")),
    ("plus sign", length(b"+2")),
    ("minus sign", length(b"-2")),
    ("hexadecimal", length(b"0x2")),
    ("underscore", length(b"0_2")),
    ("blank in a number", length(b"0 2")),
    ("empty length", length(b"")),
    ("fraction", length(b"2.0")),
    ("2^64", length(b"18446744073709551616")),
    ("2^64 + 2", length(b"18446744073709551618")),
    ("many digits", length(b"9" * 40)),
    ("chunk size with plus", CHUNKED + b"+2\r\n{}\r\n0\r\n\r\n"),
    ("chunk size with minus", CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n"),
    ("chunk size with 0x", CHUNKED + b"0x2\r\n{}\r\n0\r\n\r\n"),
    ("chunk size with underscore", CHUNKED + b"0_2\r\n{}\r\n0\r\n\r\n"),
    ("chunk size with a blank before", CHUNKED + b" 2\r\n{}\r\n0\r\n\r\n"),
    ("chunk size of 2^64 + 2", CHUNKED + b"10000000000000002\r\n{}\r\n0\r\n\r\n"),
    ("empty chunk size", CHUNKED + b"\r\n{}\r\n0\r\n\r\n"),
    ("chunk longer than its size", CHUNKED + b"1\r\n{}\r\n0\r\n\r\n"),
    ("chunk size with bare LF", CHUNKED + b"2\n{}\r\n0\r\n\r\n"),
    ("chunk data with bare LF", CHUNKED + b"2\r\n{}\n0\r\n\r\n"),
    ("chunk extension with bare LF", CHUNKED + b"2;a\nb\r\n{}\r\n0\r\n\r\n"),
    ("chunk extension with bare CR", CHUNKED + b"2;a\rb\r\n{}\r\n0\r\n\r\n"),
    ("chunk extension without a name", CHUNKED + b"2;\r\n{}\r\n0\r\n\r\n"),
    ("chunk extension with only a value", CHUNKED + b"2;=x\r\n{}\r\n0\r\n\r\n"),
    ("chunk extension without its value", CHUNKED + b"2;a=\r\n{}\r\n0\r\n\r\n"),
    ("chunk extension with an open quote", CHUNKED + b'2;a="b\r\n{}\r\n0\r\n\r\n'),
    ("chunk extension with an escaped quote", CHUNKED + b'2;a="b\\"\r\n{}\r\n0\r\n\r\n'),
    ("chunk extension of two words", CHUNKED + b"2;a b\r\n{}\r\n0\r\n\r\n"),
    ("chunk extension after a blank alone", CHUNKED + b"2 a\r\n{}\r\n0\r\n\r\n"),
    ("chunk extension of the last chunk", CHUNKED + b"2\r\n{}\r\n0;\r\n\r\n"),
    ("blank at the end of a chunk's line", CHUNKED + b"2;a \r\n{}\r\n0\r\n\r\n"),
    ("trailer with bare LF", CHUNKED + b"2\r\n{}\r\n0\r\nA: b\n\r\n"),
    ("trailer with a length", CHUNKED + b"2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n"),
    ("trailer with chunks", CHUNKED + b"2\r\n{}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ("chunked twice", CHUNKED.replace(b"chunked", b"chunked, chunked") + b"2\r\n{}\r\n0\r\n\r\n"),
    ("two codings", CHUNKED.replace(b"chunked", b"gzip, chunked") + b"2\r\n{}\r\n0\r\n\r\n"),
    ("two coding fields", START + HOST + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n0\r\n\r\n"),
    ("bare LF after the request line",
     b"POST /v1/decide HTTP/1.1\nHost: a\r\nContent-Length: 2\r\n\r\n{}"),
    ("bare LF after a field", START + b"Host: a\nContent-Length: 2\r\n\r\n{}"),
    ("bare LF at the end of the head", START + b"Host: a\r\nContent-Length: 2\r\n\n{}"),
    ("bare LF all over", b"POST /v1/decide HTTP/1.1\nHost: a\nContent-Length: 2\n\n{}"),
    ("bare CR in a value", fields(b"X: a\rb\r\n")),
    ("bare CR in the request line", b"POST /v1/\rdecide HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("obs-fold", fields(b"X: a\r\n b\r\n")),
    ("obs-fold with a tab", fields(b"X: a\r\n\tb\r\n")),
    ("first line folded", START + b" X: a\r\n" + HOST + b"\r\n"),
    ("blank before the colon", fields(b"X : a\r\n")),
    ("tab before the colon", fields(b"X\t: a\r\n")),
    ("blank before a length's colon", START + HOST + b"Content-Length : 2\r\n\r\n{}"),
    ("NUL in a value", fields(b"X: a\0b\r\n")),
    ("NUL in a name", fields(b"X\0: a\r\n")),
    ("NUL in the path", b"POST /v1/decide\0 HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("control byte in a value", fields(b"X: a\x01b\r\n")),
    ("DEL in a value", fields(b"X: a\x7fb\r\n")),
    ("name with brackets", fields(b"X[]: a\r\n")),
    ("name with a high byte", fields(b"X\xe4: a\r\n")),
    ("empty name", fields(b": a\r\n")),
    ("no colon", fields(b"X\r\n")),
    ("no Host", START + b"Content-Length: 2\r\n\r\n{}"),
    ("two Hosts", fields(HOST)),
    ("Host with a blank", START + b"Host: a b\r\nContent-Length: 2\r\n\r\n{}"),
    ("Host with a path", START + b"Host: a/b\r\nContent-Length: 2\r\n\r\n{}"),
    ("Host with a user", START + b"Host: a@b\r\nContent-Length: 2\r\n\r\n{}"),
    ("two blanks in the request line", b"POST  /v1/decide HTTP/1.1\r\n" + HOST + b"\r\n"),
    ("no version", b"POST /v1/decide\r\n" + HOST + b"\r\n"),
    ("HTTP/2.0", b"POST /v1/decide HTTP/2.0\r\n" + HOST + b"\r\n"),
    ("http/1.1", b"POST /v1/decide http/1.1\r\n" + HOST + b"\r\n"),
    ("chunks in HTTP/1.0", CHUNKED.replace(b"HTTP/1.1", b"HTTP/1.0") + b"2\r\n{}\r\n0\r\n\r\n"),
    ("HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ("TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64),
    ("SSH banner", b"SSH-2.0-OpenSSH_9.2\r\n"),
    ("Redis inline", b"PING\r\n"),
]


class Smuggling(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(plan())

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def answers_to(self, parts):
        with Connection(self.server.decisions) as c:
            c.send_slowly(parts, 0.001)
            return c.answers()

    def assert_refused(self, answers):
        self.assertEqual([(a.status, a.code) for a in answers], [(400, "http_syntax")])
        self.assertEqual(answers[0].field("Connection"), "close")

    def test_refused(self):
        for name, data in REFUSED:
            with self.subTest(name):
                self.assert_refused(self.answers_to([data + decide("smuggled")]))

    def test_refused_in_two_pieces(self):
        for name, data in REFUSED:
            with self.subTest(name):
                half = len(data) // 2
                self.assert_refused(self.answers_to([data[:half], data[half:]]))

    def test_refused_after_a_good_one(self):
        for name, data in REFUSED:
            with self.subTest(name):
                answers = self.answers_to([decide("good") + data + decide("smuggled")])
                self.assertEqual(answers[0].json()["request_id"], "good")
                self.assert_refused(answers[1:])

    def test_the_place_is_told(self):
        a = self.answers_to([b"POST /v1/decide HTTP/1.1\r\nHost : a\r\n\r\n"])[0]
        self.assertEqual(a.json()["offset"], len(b"POST /v1/decide HTTP/1.1\r\nHost"))

    def test_coding_alone_is_not_implemented(self):
        data = START + HOST + b"Transfer-Encoding: gzip\r\n\r\n"
        self.assertEqual([a.status for a in self.answers_to([data + decide("x")])], [501])

    def test_well_afterwards(self):
        self.assertEqual(ask(self.server.decisions, decide()).status, 200)
