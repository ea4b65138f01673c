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

test(`${VOLUMES} volumes are loaded with half of the memory that a load has by default`, async () => {
  const folder = await tempFolder();
  const database = await openDatabase(join(folder, 'w.duckdb'), {
    memoryLimit: halveMemory('500MB'),
    threads: THREADS,
  });
  onTestFinished(() => database.close());
  const files = createSqlFiles([PACKAGE_ROOT]);
  const tables = await loadTables(files);
  await migrate(database, files);
  const indexes = Array.from({ length: VOLUMES }, (_, index) => index);
  const list = `${JSON.stringify({ kind: 'list', body: indexes.map(listed) })}\n`;
  const reads = indexes.map((index) => `${JSON.stringify({ kind: 'read', body: read(index) })}\n`);
  writeFileSync(join(folder, 'volumes.ndjson'), [list, ...reads].join(''));
  const file = { file: 'volumes.ndjson', format: 'ndjson', bytes: 0, sha256: '', longestLine: list.length };
  const manifest = {
    target: 'nomad',
    source: 'volumes',
    files: [file],
    as_of: '2026-11-20T02:15:00Z',
  } as unknown as Manifest;
  const landed = { manifest, directory: folder, acceptDrop: false };
  for (const table of tablesForSource('volumes', tables)) {
    const { facts } = await stage({ database, files, tables }, table, [landed]);
    expect({ table: table.name, ...facts.get(landed) }).toMatchObject({ inserted: VOLUMES, error: undefined });
  }
});
