"""Answers queries over a lake with Spark, and prints one line of JSON for each: name, milliseconds of each round, number of rows.

usage: spark_queries.py DDL QUERIES ROUNDS    both files are JSON: statements; queries with name and sql
"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "test", "clients", "lake"))
import read_lake

# The defaults are those of a cluster: 200 parts for each shuffle, and 50 for the log of each table (docs/lake.md).
SETTINGS = {
    "spark.driver.memory": "6g",
    "spark.sql.shuffle.partitions": "4",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.warehouse.dir": os.path.join(os.getcwd(), "spark"),
}

ddl, queries, rounds = sys.argv[1:]
spark = read_lake.start_spark(SETTINGS)
for statement in json.load(open(ddl, encoding="utf-8")):
    spark.sql(statement)
for query in json.load(open(queries, encoding="utf-8")):
    times = []
    for _ in range(int(rounds)):
        started = time.perf_counter()
        rows = len(spark.sql(query["sql"]).collect())
        times.append((time.perf_counter() - started) * 1000)
    print(json.dumps({"name": query["name"], "roundsMs": times, "rows": rows}), flush=True)
