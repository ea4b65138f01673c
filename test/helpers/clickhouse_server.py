"""A ClickHouse server of one connection: the HTTP interface over chdb, in which a lake's tables are.

usage: clickhouse_server.py DDL    DDL is JSON: a list of statements
Prints its port, and ends with its standard input.
"""

import http.server
import json
import os
import sys
import threading
import urllib.parse

from chdb import session

engine = session.Session()
for statement in json.load(open(sys.argv[1], encoding="utf-8")):
    engine.query(statement)

SETTINGS = ["join_use_nulls", "output_format_json_quote_64bit_integers", "date_time_output_format"]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def read_body(self):
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def do_GET(self):
        self.answer(200, b"Ok.\n")

    def do_POST(self):
        text = self.read_body().decode()
        parameters = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        try:
            for name in SETTINGS:
                if name in parameters:
                    engine.query(f"set {name} = '{parameters[name]}'")
            self.answer(200, engine.query(text).bytes())
        except Exception as error:
            self.answer(500, str(error).encode())

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
server.serve_forever()
