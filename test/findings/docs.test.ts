import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { type Rule, readRules } from '../../src/tell/findings/rules.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { createFindingsWarehouse } from '../helpers/findings-warehouse.ts';

function row({ name, severity, worst, description }: Rule): string {
  const severities = worst === severity ? severity : `${severity} to ${worst}`;
  return `| \`${name}\` | ${severities} | ${description} |`;
}

const docs = () => readFile(join(PACKAGE_ROOT, 'docs/findings.md'), 'utf8');

test('docs/findings.md lists every rule as declared in its file', async () => {
  const text = await docs();
  const rows = readRules(createSqlFiles([PACKAGE_ROOT])).rules.map(row);
  const listed = text.split('\n').filter((line) => line.startsWith('| `') && line.split(' | ').length === 3);
  expect(listed).toEqual(rows);
});

test('the example rule in docs/findings.md works', async () => {
  const [, sql = ''] = /```sql\n(.*?)```/su.exec(await docs()) ?? [];
  const root = await mkdtemp(join(tmpdir(), 'tidemark-docs-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await mkdir(join(root, 'queries/findings'), { recursive: true });
  await writeFile(join(root, 'queries/findings/shown.sql'), sql);
  const warehouse = await createFindingsWarehouse({ roots: [root] });
  const workspace = (id: string, applied: string | null) => ({
    external_id: id,
    workspace_name: id,
    current_run_applied_at: applied,
  });
  await warehouse.pull('2026-11-20T02:15:00Z', 'acme', 'workspaces', {
    workspaces: [
      workspace('old', '2025-11-19T00:00:00Z'),
      workspace('young', '2025-11-21T00:00:00Z'),
      workspace('never', null),
    ],
  });
  expect(await warehouse.evaluate('2026-11-20T02:15:00Z')).toMatchObject({ failed: [] });
  expect(await warehouse.seen('shown')).toEqual({ found: ['old'], unknown: ['never'] });
  expect(await warehouse.findings('shown')).toMatchObject([{ title: 'Workspace old was last applied on 2025-11-19' }]);
});
