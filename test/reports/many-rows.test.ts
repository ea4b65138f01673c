import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { loadReports } from '../../src/tell/reports/definitions.ts';
import { holdRows, toTableView } from '../../src/tell/reports/table-view.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';

test('a table with bars may have more rows than a call may have arguments', async () => {
  const reports = loadReports(createSqlFiles([PACKAGE_ROOT]));
  const leaves = reports.get('certificates')!.datasets.find(({ name }) => name === 'leaves')!;
  const part = { kind: 'good', value: 2, text: '2 hours left' };
  const row = { target: 'mesh', service: 'web', time_left: [part] };
  const rows = [...Array.from({ length: 130_000 }, () => row), { ...row, time_left: [{ ...part, value: 4 }] }];
  const held = holdRows(holdRows({ ...leaves, limit: 1 }, rows), [row]);
  const options = { report: 'certificates', params: {}, staleSources: new Set<string>(), unlinked: new Set<string>() };
  const view = toTableView(held, { ...options, hasSeveralTargets: false });
  expect([view.total, view.shown]).toEqual([130_002, 1]);
  expect(view.rows[0]?.[1]?.html).toContain('width="109"'); // half of the longest, which the page does not show
});
