import { join } from 'node:path';
import { expect, test } from 'vitest';
import { buildCommand, startCommand } from '../helpers/built-command.ts';
import { readRows } from '../helpers/rows.ts';
import { tempFolder } from '../helpers/temp.ts';

test('the demo without options plays ten nights; that of the incident resolves no finding of what it could not read', async () => {
  const cwd = await tempFolder();
  const { exit, stderr } = await startCommand(await buildCommand(), ['demo'], cwd).ended;
  expect(exit, stderr).toBe(0);
  expect(stderr.match(/^night /gmu)).toHaveLength(10);
  expect(stderr).toMatch(
    /^night {2}5 .*the platform answers 503.* {2}findings: \+\d+ −\d+; stale: \d sources, unassessed: \d+ findings$/mu,
  );
  const rows = (sql: string) => readRows(join(cwd, 'demo', 'data', 'warehouse.duckdb'), sql);
  const failed = await rows(`select source from pulls where status <> 'complete' order by 1`);
  expect(failed.map(({ source }) => source)).toContain('workspaces');
  const resolved = await rows(`
    select finding_id from finding_events
    where changed_at = (select min(as_of) from pulls where status <> 'complete') and state = 'resolved'
      and rule in ('drifted-workspace', 'outdated-version', 'failing-checks')`);
  expect(resolved).toEqual([]);
});
