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


def read_spark(_, ddl):
    from pyspark.sql import SparkSession

    home = os.path.expanduser("~/.m2/repository")
    names = ["io/delta/delta-spark_4.2_2.13", "io/delta/delta-storage", "org/antlr/antlr4-runtime", "io/unitycatalog/*"]
    jars = [jar for name in names for jar in glob.glob(f"{home}/{name}/*/*.jar")]
    settings = {
        "spark.jars": ",".join(jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": os.path.join(os.path.dirname(EXPECTED), "spark"),
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for statement in ddl:
        spark.sql(statement)
    return lambda query: [row.asDict() for row in spark.sql(query["spark"]).collect()]


def read_deltalake(lake, _):
    from deltalake import DeltaTable

    return lambda query: DeltaTable(os.path.join(lake, query["table"])).to_pyarrow_table().to_pylist()


def read_polars(lake, _):
    import polars

    return lambda query: polars.scan_delta(os.path.join(lake, query["table"])).collect().to_dicts()


ENGINES = {"chdb": read_chdb, "spark": read_spark, "deltalake": read_deltalake, "polars": read_polars}
# Arrays of ClickHouse are never null: a null list is an empty one.
HAS_NO_NULL_LISTS = {"chdb"}
READS_TABLES = {"deltalake", "polars"}


def compare(name, query, read):
    expected = parquet.read_table(os.path.join(EXPECTED, query["name"] + ".parquet"))
    lists = {field.name for field in expected.schema if str(field.type).startswith("list")}
    columns = expected.schema.names
    wanted = expected.to_pylist()
    if name in HAS_NO_NULL_LISTS:
        wanted = [{key: [] if value is None and key in lists else value for key, value in row.items()} for row in wanted]
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
    reader = ENGINES[engine](LAKE, statements)
    for entry in queries:
        if ("table" in entry) == (engine in READS_TABLES):
            print(json.dumps(compare(engine, entry, reader), default=str), flush=True)
