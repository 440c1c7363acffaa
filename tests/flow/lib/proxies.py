"""nginx and HAProxy before two servers: in a directory of their own, and without a daemon."""

import os
import shutil
import subprocess
import tempfile

from lib.server import free_port, wait_for
from lib.wire import Connection

# What an nginx of our own needs around an `http` block that is told elsewhere.
NGINX_AROUND = """\
daemon off;
master_process off;
worker_processes 1;
pid {directory}/pid;
error_log {directory}/error.log warn;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
{http}
}}
"""

# Its `http` block, unless a test brings one.
NGINX_HTTP = """\
    upstream interlude {{
        server 127.0.0.1:{first} max_fails=0;
        server 127.0.0.1:{second} max_fails=0;
        {keepalive}
    }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            proxy_pass http://interlude;
            proxy_http_version 1.1;
            proxy_set_header Connection "{connection}";
            proxy_set_header Host localhost;
            {location}
        }}
    }}
"""

# A server that is away is tried once; then the other one is.
HAPROXY = """\
defaults
    mode http
    timeout connect 10s
    timeout client 30s
    timeout server 30s
    retries 3
    option redispatch 1
    {reuse}
listen interlude
    bind 127.0.0.1:{port}
    balance roundrobin
    server first 127.0.0.1:{first}
    server second 127.0.0.1:{second}
"""


def configuration(name, directory, port, servers, keep, location=""):
    more = {"directory": directory, "port": port, "first": servers[0], "second": servers[1]}
    if name == "nginx":
        http = NGINX_HTTP.format(keepalive="keepalive 32;" if keep else "",
                                 connection="" if keep else "close", location=location, **more)
        return NGINX_AROUND.format(directory=directory, http=http)
    return HAPROXY.format(reuse="http-reuse always" if keep else
                          "option http-server-close\n    http-reuse never", **more)


class Proxy:
    """`keep`: connections to the servers are kept and used again. `location`: further settings of
    nginx's. Or `text`: the `http` block of an nginx, or a HAProxy's whole configuration, that
    listens on `port`."""

    def __init__(self, name, servers=None, keep=True, location="", text=None, port=None):
        self.name = name
        self.directory = tempfile.mkdtemp(prefix="interlude-proxy-")
        self.address = ("127.0.0.1", port or free_port())
        if text is None:
            text = configuration(name, self.directory, self.address[1], servers, keep, location)
        elif name == "nginx":
            text = NGINX_AROUND.format(directory=self.directory, http=text)
        path = os.path.join(self.directory, "conf")
        with open(path, "w") as f:
            f.write(text)
        if name == "nginx":
            command = ["/usr/sbin/nginx", "-p", self.directory, "-c", path,
                       "-e", os.path.join(self.directory, "error.log")]
        else:
            command = ["/usr/sbin/haproxy", "-db", "-f", path]
        self.errors_path = os.path.join(self.directory, "stderr")
        with open(self.errors_path, "wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=errors)
        wait_for(self.answers, 30, name)

    def answers(self):
        if self.process.poll() is not None:
            with open(self.errors_path, errors="replace") as f:
                raise AssertionError("%s ended with %d: %s" % (self.name, self.process.returncode,
                                                               f.read()))
        try:
            Connection(self.address).close()
            return True
        except ConnectionError:
            return False

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
