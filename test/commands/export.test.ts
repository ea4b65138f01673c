import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/warehouse/database.ts';
import { acquireLock } from '../../src/warehouse/lock.ts';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { copyEmptyWarehouse } from '../helpers/prepared.ts';
import { cleanAtEnd } from '../helpers/temp.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';

const atEnd = cleanAtEnd();
interface Exported {
  readonly out: string;
  readonly tables: readonly {
    readonly table: string;
    readonly rows: number;
    readonly file: string;
    readonly bytes: number;
    readonly sha256: string;
  }[];
}

const exportTo = async (project: TestProject, out: string): Promise<Exported> => {
  const { exit, stdout, stderr } = await project.tidemark(['--json', 'export', '--format', 'parquet', '--out', out]);
  expect(stderr).not.toContain('error');
  expect(exit).toBe(0);
  return JSON.parse(stdout) as Exported;
};

describe('export', () => {
  let project: TestProject;
  let exported: Exported;

  beforeAll(async () => {
    project = await testProject({ workspaces: 5, cleanup: atEnd });
    await mkdir(join(project.folder, 'queries', 'tables'), { recursive: true });
    await writeFile(
      join(project.folder, 'queries', 'tables', 'notes.sql'),
      '-- grain: one row per note\ncreate table if not exists notes (\n  note varchar, -- the note\n  documents json[] -- its documents\n);\n',
    );
    await project.pull(['workspaces', 'tf_versions', 'agents'].flatMap((source) => ['--source', source]));
    exported = await exportTo(project, 'lake');
  });

  test('writes every table, its history and the state of the sources, each as one file with all rows', async () => {
    expect(exported.out).toBe(join(project.folder, 'lake'));
    expect(exported.tables.map(({ table }) => table)).toEqual(
      expect.arrayContaining([
        'workspaces',
        'workspaces_history',
        'tf_versions_history',
        'runs',
        'source_state',
        'notes',
      ]),
    );
    for (const { table, rows, file } of exported.tables) {
      expect(await readdir(join(exported.out, table))).toEqual(['data.parquet']);
      const [inTable] = await project.rows(`select count(*)::int as n from ${table}`);
      const [inFile] = await project.rows(`select count(*)::int as n from read_parquet('${exported.out}/${file}')`);
      expect({ table, rows, inFile: inFile?.n }).toEqual({ table, rows: inTable?.n, inFile: inTable?.n });
    }
  });

  test('keeps every value, with JSON as text', async () => {
    const file = `${exported.out}/workspaces/data.parquet`;
    const [differing] = await project.rows(
      `select count(*)::int as n from (from workspaces except from read_parquet('${file}'))`,
    );
    expect(differing?.n).toBe(0);
    const types = await project.rows(
      `describe select * from read_parquet('${exported.out}/*/data.parquet', union_by_name = true)`,
    );
    expect(types.filter(({ column_type }) => String(column_type).includes('JSON'))).toEqual([]);
  });

  test('sorts rows by target and key', async () => {
    const [unsorted] = await project.rows(
      `select count(*)::int as n from (
        select external_id < lag(external_id) over (order by file_row_number) as is_less
        from read_parquet('${exported.out}/workspaces/data.parquet', file_row_number = true)
      ) where is_less`,
    );
    expect(unsorted?.n).toBe(0);
  });

  test('ends with a manifest of all files and their checksums', async () => {
    const manifest = JSON.parse(await readFile(join(exported.out, 'manifest.json'), 'utf8')) as Exported;
    expect(manifest.tables).toEqual(exported.tables);
    for (const { file, bytes, sha256 } of manifest.tables) {
      const content = await readFile(join(exported.out, file));
      expect({ file, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') }).toEqual({
        file,
        bytes,
        sha256,
      });
    }
  });

  test.runIf(existsSync('/proc/self'))('a folder in which nothing can be made is an error of one line', async () => {
    for (const words of [
      ['export', '--out', '/proc/tidemark/a'],
      ['lake', 'publish', '--lake', '/proc/tidemark/a'],
    ]) {
      const { exit, stderr } = await project.tidemark(words);
      expect([words[0], exit, stderr]).toEqual([
        words[0],
        2,
        expect.stringMatching(/^error: \/proc\/tidemark.* cannot be used: .*\n$/u),
      ]);
    }
  });

  test('replaces an earlier export, and leaves other files alone', async () => {
    const out = join(project.folder, 'again');
    await mkdir(join(out, 'former', 'target=acme'), { recursive: true });
    await mkdir(join(out, 'workspaces', 'target=acme'), { recursive: true });
    await mkdir(join(out, '.staging-0000'), { recursive: true });
    await writeFile(join(out, 'notes.txt'), 'mine');
    await writeFile(join(out, 'manifest.json'), JSON.stringify({ version: 1, tables: [{ table: 'former' }] }));
    await exportTo(project, 'again');
    expect(await readdir(out)).toEqual(expect.arrayContaining(['manifest.json', 'notes.txt', 'workspaces']));
    expect(await readdir(out)).not.toEqual(expect.arrayContaining(['former']));
    expect((await readdir(out)).filter((name) => name.startsWith('.'))).toEqual([]);
    expect(await readdir(join(out, 'workspaces'))).toEqual(['data.parquet']);
  });

  test('an export beside another one into the same folder is refused, and leaves it alone', async () => {
    const out = join(project.folder, 'shared');
    const staging = join(out, '.staging-other');
    await mkdir(staging, { recursive: true });
    const other = await acquireLock(join(out, 'lock'), 'export');
    const { exit, stderr } = await project.tidemark(['export', '--out', 'shared']);
    expect([exit, stderr]).toEqual([6, expect.stringContaining('is locked by export')]);
    expect(existsSync(staging)).toBe(true);
    await other.release();
    await exportTo(project, 'shared');
  });
});

test('export: 500 targets, with names that look like numbers and dates', async () => {
  const project = await testProject({ workspaces: 1 });
  const names = ['001', '2026-10-01', '1e3', ...Array.from({ length: 497 }, (_, index) => `scaler-of-team-${index}`)];
  const { published } = warehouseFiles(join(project.folder, 'data'));
  await copyEmptyWarehouse(published);
  const warehouse = await openDatabase(published);
  await warehouse.run(
    `insert into autoscaler_health_history by name
     select unnest($names) as target, true as alive, timestamptz '2026-10-01' as valid_from`,
    { names },
  );
  await warehouse.run(
    `insert into runs by name
     select '20261001T000000Z' as run_id, $target as target, 'pull' as job, 'complete' as status, timestamptz '2026-10-01' as started_at`,
    { target: names.join(', ') },
  );
  warehouse.close();
  const { out } = await exportTo(project, 'lake');
  const targets = await project.rows(`select target from read_parquet('${out}/autoscaler_health/data.parquet')`);
  expect(targets.map(({ target }) => target).sort()).toEqual([...names].sort());
  const [run] = await project.rows(`select len(target)::int as length from read_parquet('${out}/runs/data.parquet')`);
  expect(run?.length).toBeGreaterThan(5_000);
});
