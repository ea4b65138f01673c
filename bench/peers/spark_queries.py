"""Answers queries over a lake with Spark, and prints one line of JSON for each: name, milliseconds of each round, number of rows.

usage: spark_queries.py DDL QUERIES ROUNDS    both files are JSON: statements; queries with name and sql
"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "test", "clients", "lake"))
import read_lake

ddl, queries, rounds = sys.argv[1:]
read_lake.EXPECTED = os.path.join(os.getcwd(), "spark")
read = read_lake.read_spark(None, json.load(open(ddl, encoding="utf-8")))
for query in json.load(open(queries, encoding="utf-8")):
    times = []
    for _ in range(int(rounds)):
        started = time.perf_counter()
        rows = len(read({"spark": query["sql"]}))
        times.append((time.perf_counter() - started) * 1000)
    print(json.dumps({"name": query["name"], "roundsMs": times, "rows": rows}), flush=True)
