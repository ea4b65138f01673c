"""Pulls the eight sources of the platform with dlt into a DuckDB file: `pull.py URL csv|json scd2|replace`.

The settings are the fastest ones of dlt's documentation: every file that is loaded is Parquet. With `csv`, all rows go through dlt
as Arrow tables, which skips its normalizer. With `json`, the rows of a page go through dlt as they are.
"""

import atexit
import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from io import BytesIO

os.environ.update(
    {
        "RUNTIME__DLTHUB_TELEMETRY": "false",
        "RUNTIME__LOG_LEVEL": "ERROR",
        # The default of 5,000 items suits small machines.
        "DATA_WRITER__BUFFER_MAX_ITEMS": "100000",
        "LOAD__DELETE_COMPLETED_JOBS": "true",
    }
)

import dlt  # noqa: E402
import duckdb  # noqa: E402
import pyarrow as pa  # noqa: E402
from dlt.common.json import json as fast_json  # noqa: E402
from dlt.sources.helpers import requests  # noqa: E402
from pyarrow import csv  # noqa: E402

Item = dict[str, object]
Rows = Iterator[list[Item]]

TIME = pa.timestamp("us", tz="UTC")
COUNTS = "current_rum_count checks_errored checks_failed checks_passed checks_unknown module_count provider_count"
WORKSPACE_TYPES = {
    **dict.fromkeys(["all_checks_succeeded", "drifted"], pa.bool_()),
    **dict.fromkeys([*COUNTS.split(), "resources_drifted", "resources_undrifted"], pa.int64()),
    **dict.fromkeys(["current_run_applied_at", "workspace_created_at", "workspace_updated_at"], TIME),
}
USAGE_TYPES = {"workspace_count": pa.int64()}
VIEWS = {"workspaces": WORKSPACE_TYPES, "tf_versions": USAGE_TYPES, "providers": USAGE_TYPES, "modules": USAGE_TYPES}
BLOCK_BYTES = 4 * 1024 * 1024

REJECTED = 422
"""The response to the query of a saved view whose field no longer exists."""


class Platform:
    """Reads the API below a URL."""

    def __init__(self, url: str) -> None:
        self.api = f"{url}/api/v2"
        self.organization = f"{self.api}/organizations/acme"
        self.session = requests.Client(raise_for_status=False).session

    def get(self, address: str) -> bytes | None:
        response = self.session.get(address)
        if response.status_code == REJECTED:
            return None
        response.raise_for_status()
        return response.content

    def pages(self, address: str) -> Rows:
        """The items of each page, one page after another."""
        body = self.get(address)
        while body is not None:
            page = fast_json.loadb(body)
            yield page["data"]
            number = page.get("meta", {}).get("pagination", {}).get("next-page")
            body = self.get(f"{address}&page%5Bnumber%5D={number}") if number else None

    def view(self, name: str) -> Rows:
        for items in self.pages(f"{self.organization}/explorer?type={name}&page%5Bsize%5D=100"):
            yield [flatten(item) for item in items]

    def exported_view(self, name: str) -> Iterator[pa.Table]:
        body = self.get(f"{self.organization}/explorer/export/csv?type={name}")
        # A list of workspace names is one cell, and a block must hold the longest line.
        block_size = BLOCK_BYTES if name == "workspaces" else len(body) + 1
        yield csv.read_csv(
            BytesIO(body),
            read_options=csv.ReadOptions(block_size=block_size),
            convert_options=csv.ConvertOptions(column_types=VIEWS[name], strings_can_be_null=True, null_values=[""]),
        )

    def saved_views(self) -> Rows:
        for items in self.pages(f"{self.organization}/explorer/views"):
            yield [flatten(item) for item in items]

    def saved_view_rows(self) -> Rows:
        for views in self.saved_views():
            for view in views:
                address = f"{self.organization}/explorer/views/{view['id']}/results?page%5Bsize%5D=100"
                for items in self.pages(address):
                    yield [{"view_id": view["id"], "row_id": item["id"], **as_text(item["attributes"])} for item in items]

    @cached_property
    def pools(self) -> list[Item]:
        """Three tables are made of them, and they are requested once."""
        return [pool for items in self.pages(f"{self.organization}/agent-pools?page%5Bsize%5D=100") for pool in items]

    def agent_pools(self) -> Rows:
        yield [flatten(pool) for pool in self.pools]

    def agent_pool_workspaces(self) -> Rows:
        yield [
            {"pool_id": pool["id"], "workspace_id": workspace["id"], "relation": relation}
            for pool in self.pools
            for relation in ("workspaces", "allowed-workspaces")
            for workspace in pool["relationships"].get(relation, {}).get("data", [])
        ]

    def agents(self) -> Rows:
        for pool in self.pools:
            for agents in self.pages(f"{self.api}/agent-pools/{pool['id']}/agents?page%5Bsize%5D=100"):
                yield [{"pool_id": pool["id"], **flatten(agent)} for agent in agents]


def flatten(item: Item) -> Item:
    attributes = item["attributes"]
    return {"id": item["id"], **{name: value for name, value in attributes.items() if not isinstance(value, dict)}}


def as_text(attributes: Item) -> Item:
    """Attributes of many forms, as one column."""
    return {"attributes": fast_json.dumps(attributes)}


def as_tables(rows: Callable[[], Rows]) -> Iterator[pa.Table]:
    yield pa.Table.from_pylist([row for page in rows() for row in page])


def create_resources(platform: Platform, way: str, disposition: str) -> list:
    """One resource for each table."""
    others = [
        platform.saved_views,
        platform.saved_view_rows,
        platform.agent_pools,
        platform.agent_pool_workspaces,
        platform.agents,
    ]
    is_csv = way == "csv"
    read_view = platform.exported_view if is_csv else platform.view
    rows = {
        **{name: partial(read_view, name) for name in VIEWS},
        **{read.__name__: partial(as_tables, read) if is_csv else read for read in others},
    }
    return [create_resource(name, read(), is_csv, disposition) for name, read in rows.items()]


def create_resource(name: str, rows: Iterator[object], is_tabular: bool, disposition: str):
    if disposition == "replace":
        return dlt.resource(rows, name=name, write_disposition="replace", max_table_nesting=0)
    write: dict[str, object] = {"disposition": "merge", "strategy": "scd2"}
    if not is_tabular:
        return dlt.resource(rows, name=name, write_disposition=write, max_table_nesting=0)
    hashed = dlt.resource(rows, name=name, write_disposition={**write, "row_version_column_name": "row_hash"})
    return hashed.add_map(add_row_hash)


def add_row_hash(rows: pa.Table) -> pa.Table:
    """With DuckDB: dlt's helper for row hashes converts the table to pandas, which takes more memory."""
    connection = duckdb.connect()
    return connection.sql("select *, (hash(rows) >> 1)::bigint as row_hash from rows").to_arrow_table()


def write_usage(file: str) -> None:
    """CPU time in milliseconds and peak memory in MiB of this process and its workers, as `usage.js` writes them."""
    usages = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    usage = {
        "peakMiB": max(each.ru_maxrss for each in usages) / 1024,
        "cpuMs": sum(each.ru_utime + each.ru_stime for each in usages) * 1000,
    }
    with open(file, "w", encoding="utf-8") as out:
        json.dump(usage, out)


def main(url: str, way: str, disposition: str) -> None:
    if "BENCH_USAGE" in os.environ:
        atexit.register(write_usage, os.environ["BENCH_USAGE"])
    destination = dlt.destinations.duckdb("warehouse.duckdb")
    pipeline = dlt.pipeline("platform", destination=destination, dataset_name="platform_data", pipelines_dir="pipelines")
    tables = create_resources(Platform(url), way, disposition)
    pipeline.run(tables, loader_file_format="parquet").raise_on_failed_jobs()


main(*sys.argv[1:])
