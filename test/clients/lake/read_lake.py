"""Reads a lake with an engine and compares every cell with what DuckDB reads.

usage: read_lake.py ENGINE LAKE EXPECTED DDL
EXPECTED has a Parquet file for each query, and queries.json with their names and text. Prints one line of JSON for each query:
name, rows, and the first cells that differ.
"""

import datetime
import decimal
import glob
import json
import math
import os
import sys

import pyarrow.parquet as parquet

UTC = datetime.timezone.utc


def cell(value):
    """One form for values that engines return as different types of Python."""
    if isinstance(value, datetime.datetime):
        value = value if value.tzinfo else value.replace(tzinfo=UTC)
        return value.astimezone(UTC).isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, decimal.Decimal):
        return str(value.normalize())
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, (list, tuple)):
        return [cell(entry) for entry in value]
    if hasattr(value, "tolist"):
        return cell(value.tolist())
    return value


def rows(records, columns):
    return sorted(([cell(record.get(name)) for name in columns] for record in records), key=repr)


def read_chdb(_, ddl):
    from chdb import session

    engine = session.Session()
    for statement in ddl:
        engine.query(statement)

    def read(query):
        path = os.path.join(os.path.dirname(EXPECTED), "chdb.parquet")
        if os.path.exists(path):
            os.remove(path)
        settings = "output_format_parquet_string_as_string = 1"
        engine.query(f"{query['clickhouse']} into outfile '{path}' format Parquet settings {settings}")
        return parquet.read_table(path).to_pylist()

    return read


def start_spark(settings):
    """A session that reads and writes Delta tables with the libraries that Maven has fetched."""
    from pyspark.sql import SparkSession

    home = os.path.expanduser("~/.m2/repository")
    names = ["io/delta/delta-spark_4.2_2.13", "io/delta/delta-storage", "org/antlr/antlr4-runtime", "io/unitycatalog/*"]
    jars = [jar for name in names for jar in glob.glob(f"{home}/{name}/*/*.jar")]
    delta = {
        "spark.jars": ",".join(jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in {**delta, **settings}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def read_spark(lake, ddl):
    settings = {
        # The tables are small, and most of the time would go to plans, code for them, and threads.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.databricks.delta.stalenessLimit": "1h",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": os.path.join(os.path.dirname(EXPECTED), "spark"),
    }
    spark = start_spark(settings)
    for statement in ddl:
        spark.sql(statement)

    def read(query):
        is_table = "table" in query
        found = spark.read.format("delta").load(os.path.join(lake, query["table"])) if is_table else spark.sql(query["spark"])
        return [row.asDict() for row in found.collect()]

    return read


def read_trino(_, ddl):
    from trino.dbapi import connect

    port = int(os.environ["TRINO_PORT"])
    # A query that reads a view several times plans it as often.
    settings = {"query_max_stage_count": "1000"}
    place = {"catalog": "delta", "schema": "tidemark", "timezone": "UTC", "session_properties": settings}
    connection = connect(host="127.0.0.1", port=port, user="tester", **place)

    def run(sql):
        cursor = connection.cursor()
        cursor.execute(sql)
        found = cursor.fetchall()
        names = [column[0] for column in cursor.description or []]
        return [dict(zip(names, row)) for row in found]

    run("create schema if not exists tidemark")
    for statement in ddl:
        run(statement)
    return lambda query: run(f'select * from tidemark_internal."{query["table"]}"' if "table" in query else query["trino"])


# Of a server on the loopback interface; the rest is in the variables of AWS.
STORAGE = {"AWS_ALLOW_HTTP": "true"}


def read_deltalake(lake, _):
    from deltalake import DeltaTable

    return lambda query: DeltaTable(f"{lake}/{query['table']}", storage_options=STORAGE).to_pyarrow_table().to_pylist()


def read_polars(lake, _):
    import polars

    return lambda query: polars.scan_delta(f"{lake}/{query['table']}", storage_options=STORAGE).collect().to_dicts()


ENGINES = {"chdb": read_chdb, "spark": read_spark, "trino": read_trino, "deltalake": read_deltalake, "polars": read_polars}
# Arrays of ClickHouse are never null: a null list is an empty one.
HAS_NO_NULL_LISTS = {"chdb"}
# Trino reads the times of Delta tables to the millisecond.
READS_MILLISECONDS = {"trino"}
READS_VIEWS = {"chdb", "spark", "trino"}
READS_TABLES = {"deltalake", "polars", "spark", "trino"}


def cut(value):
    return value.replace(microsecond=value.microsecond // 1000 * 1000) if isinstance(value, datetime.datetime) else value


def read_once(read):
    """Reads a table once for all times that are compared."""
    last = {}

    def remembered(query):
        if "table" not in query:
            return read(query)
        if query["table"] not in last:
            last.clear()
            last[query["table"]] = list(read(query))
        return last[query["table"]]

    return remembered


def compare(name, query, read):
    expected = parquet.read_table(os.path.join(EXPECTED, query["name"] + ".parquet"))
    lists = {field.name for field in expected.schema if str(field.type).startswith("list")}
    columns = expected.schema.names
    wanted = expected.to_pylist()
    if name in HAS_NO_NULL_LISTS:
        wanted = [{key: [] if value is None and key in lists else value for key, value in row.items()} for row in wanted]
    if name in READS_MILLISECONDS:
        wanted = [{key: cut(value) for key, value in row.items()} for row in wanted]
    found = list(read(query))
    if "until" in query:
        until = datetime.datetime.fromisoformat(query["until"])
        found = [row for row in found if (row["as_of"] if row["as_of"].tzinfo else row["as_of"].replace(tzinfo=UTC)) <= until]
    wanted, found = rows(wanted, columns), rows(found, columns)
    differing = [[w, f] for w, f in zip(wanted, found) if w != f][:1]
    if len(wanted) != len(found):
        differing.append([len(wanted), len(found)])
    return {"name": query["name"], "rows": len(found), "differing": differing}


if __name__ == "__main__":
    engine, LAKE, EXPECTED, DDL = sys.argv[1:]
    with open(DDL, encoding="utf-8") as file:
        statements = json.load(file)
    with open(os.path.join(EXPECTED, "queries.json"), encoding="utf-8") as file:
        queries = json.load(file)
    reader = read_once(ENGINES[engine](LAKE, statements))
    for entry in queries:
        if engine in (READS_TABLES if "table" in entry else READS_VIEWS):
            print(json.dumps(compare(engine, entry, reader), default=str), flush=True)
