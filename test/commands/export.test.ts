import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestProject, testProject } from '../helpers/test-project.ts';

let place: TestProject;
const COUNT = 'select count(*)::int as n from';

beforeAll(async () => {
  place = await testProject({ workspaces: 5, cleanup: afterAll });
  await mkdir(join(place.folder, 'queries', 'tables'), { recursive: true });
  await writeFile(
    join(place.folder, 'queries', 'tables', 'notes.sql'),
    '-- grain: one row per note\ncreate table if not exists notes (\n  note varchar -- the note\n);\n',
  );
  await place.pull([]);
});

test('export: every table of the warehouse, by target where it has one', async () => {
  const { exit, stdout } = await place.tidemark(['--json', 'export', '--format', 'parquet', '--out', 'lake']);
  expect(exit).toBe(0);
  const { out, tables } = JSON.parse(stdout) as { out: string; tables: { table: string; rows: number }[] };
  expect(out).toBe(join(place.folder, 'lake'));
  const names = tables.map(({ table }) => table);
  expect(names).toEqual(
    expect.arrayContaining(['workspaces', 'workspaces_history', 'tf_versions_history', 'pulls', 'notes']),
  );
  for (const { table, rows } of tables.filter((each) => each.rows > 0)) {
    const [written] = await place.rows(
      `${COUNT} read_parquet('${out}/${table}/**/*.parquet', hive_partitioning = true)`,
    );
    expect({ table, rows: written?.n }).toEqual({ table, rows });
  }
  const [kept] = await place.rows(
    `${COUNT} (select * exclude (target) from workspaces except select * exclude (target) from read_parquet('${out}/workspaces/*/*.parquet'))`,
  );
  expect(kept?.n).toBe(0);
});
