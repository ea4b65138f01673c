import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import type { Manifest } from '../../src/landing/store.ts';
import { stage } from '../../src/load/stage.ts';
import { halveMemory, openDatabase } from '../../src/warehouse/database.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { THREADS } from '../../src/warehouse/session.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables, tablesForSource } from '../../src/warehouse/tables.ts';
import { tempFolder } from '../helpers/temp.ts';

/** A thousand needed 250 MB when each field parsed its object again. */
const VOLUMES = 5000;

function listed(index: number) {
  return {
    ID: `vol-${index}`,
    ExternalID: `external-${index}`,
    Namespace: index % 3 === 0 ? 'team-a' : 'default',
    Name: `volume-${index}`,
    AccessMode: 'single-node-writer',
    AttachmentMode: 'file-system',
    CurrentReaders: 0,
    CurrentWriters: 1,
    Schedulable: true,
    PluginID: 'ebs',
    Provider: 'ebs.csi.aws.com',
    ControllersHealthy: 2,
    ControllersExpected: 2,
    NodesHealthy: 5,
    NodesExpected: 5,
    CreateIndex: 100 + index,
    ModifyIndex: 1000 + index,
  };
}

function read(index: number) {
  const allocation = {
    ID: `alloc-${index}`,
    NodeID: 'node',
    ClientStatus: 'running',
    JobID: 'job',
    TaskGroup: 'group',
  };
  return {
    ...listed(index),
    RequestedCapabilities: [{ AccessMode: 'single-node-writer', AttachmentMode: 'file-system' }],
    Capacity: 1_000_000_000,
    Parameters: { type: 'gp3' },
    Allocations: [{ ...allocation, TaskStates: { server: { State: 'running', Failed: false, Events: [] } } }],
    WriteAllocs: { [`alloc-${index}`]: null },
  };
}

/** Stages what a source has landed. @returns the rows of each table */
async function stageSource(source: string, lines: readonly string[], memoryLimit: string) {
  const folder = await tempFolder();
  const database = await openDatabase(join(folder, 'w.duckdb'), { memoryLimit, threads: THREADS });
  onTestFinished(() => database.close());
  const files = createSqlFiles([PACKAGE_ROOT]);
  const tables = await loadTables(files);
  await migrate(database, files);
  const name = `${source}.ndjson`;
  writeFileSync(join(folder, name), lines.map((line) => `${line}\n`).join(''));
  const longestLine = Math.max(...lines.map(({ length }) => length)) + 1;
  const file = { file: name, format: 'ndjson', bytes: 0, sha256: '', longestLine };
  const manifest = { target: 'acme', source, files: [file], as_of: '2026-11-20T02:15:00Z' } as unknown as Manifest;
  const landed = { manifest, directory: folder, acceptDrop: false };
  const rows: [string, unknown][] = [];
  for (const table of tablesForSource(source, tables)) {
    const { facts } = await stage({ database, files, tables }, table, [landed]);
    rows.push([table.name, facts.get(landed)?.error ?? facts.get(landed)?.inserted]);
  }
  return Object.fromEntries(rows);
}

/** `claims`: of each volume, with what its tasks have met. */
function volumeLines(count: number, claims: (index: number) => object = () => ({})) {
  const indexes = Array.from({ length: count }, (_, index) => index);
  const reads = indexes.map((index) => JSON.stringify({ kind: 'read', body: { ...read(index), ...claims(index) } }));
  return [JSON.stringify({ kind: 'list', body: indexes.map(listed) }), ...reads];
}

test(`${VOLUMES} volumes are loaded with half of the memory that a load has by default`, async () => {
  const rows = await stageSource('volumes', volumeLines(VOLUMES), halveMemory('500MB'));
  expect(rows).toEqual({ volumes: VOLUMES, volume_allocations: VOLUMES });
});

test('volumes with the events of many tasks are loaded with the memory that a load has by default', async () => {
  const Events = Array.from({ length: 10 }, () => ({ Type: 'Started', Message: 'm'.repeat(200) }));
  const claims = (index: number) => {
    const ids = Array.from({ length: 5 }, (_, claim) => `alloc-${index}-${claim}`);
    return {
      Allocations: ids.map((ID) => ({ ID, JobID: 'job', TaskStates: { server: { Events } } })),
      WriteAllocs: Object.fromEntries(ids.map((id) => [id, null])),
    };
  };
  const rows = await stageSource('volumes', volumeLines(3000, claims), halveMemory('1GB'));
  expect(rows).toEqual({ volumes: 3000, volume_allocations: 15_000 });
});

test('keys with a hundred versions are loaded with the memory that a load has by default', async () => {
  const version = { creation_time: '2026-10-01T00:00:00Z', public_key: 'M'.repeat(400) };
  const keys = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [String(index + 1), version]));
  const lines = Array.from({ length: 2000 }, (_, index) =>
    JSON.stringify({ name: `key-${index}`, body: { data: { type: 'rsa-2048', latest_version: 100, keys } } }),
  );
  expect(await stageSource('keys', lines, halveMemory('1GB'))).toEqual({ keys: 2000, key_versions: 200_000 });
});

test('a response with a hundred thousand metrics is loaded with the memory that a load has by default', async () => {
  const indexes = Array.from({ length: 60_000 }, (_, index) => index);
  const named = (index: number) => ({ Name: `metric-${index}`, Labels: { node: `node-${index}-${'n'.repeat(50)}` } });
  const Gauges = indexes.map((index) => ({ ...named(index), Value: index }));
  const Counters = indexes.map((index) => ({ ...named(index), Count: 1, Rate: 1.5, Sum: 2, Min: 1, Max: 2, Mean: 1 }));
  const line = JSON.stringify({
    body: { Timestamp: '2026-11-20 02:15:00 +0000 UTC', Gauges, Counters, Samples: null },
  });
  expect(await stageSource('autoscaler_metrics', [line], halveMemory('1GB'))).toEqual({ autoscaler_metrics: 120_000 });
});

test('ACL policies with many rules are loaded with the memory that a load has by default', async () => {
  const Rules = 'namespace "team" { policy = "read" }\n'.repeat(550);
  const lines = Array.from({ length: 3000 }, (_, index) =>
    JSON.stringify({ name: `policy-${index}`, grants: '[]', body: { Name: `policy-${index}`, Rules, CreateIndex: 1 } }),
  );
  expect(await stageSource('acl_policies', lines, halveMemory('1GB'))).toEqual({ acl_policies: 3000 });
});
