import { expect, test } from 'vitest';
import { readMatrix, readReasons } from '../columns.js';

const matrix = readMatrix();
const reasons = Object.values(readReasons()).flat();
const unread = matrix.flatMap(({ table, column, readers }) => (readers.length === 0 ? [`${table}.${column}`] : []));

test('a column has a reader, or a reason in test/columns.yaml', () => {
  expect(unread.filter((name) => !reasons.includes(name))).toEqual([]);
});

test('a reason stands once, and names a column that nothing reads', () => {
  expect(reasons.filter((name, index) => !unread.includes(name) || reasons.indexOf(name) !== index)).toEqual([]);
});

test('a reader reads the table, or a view over it', () => {
  const readersOf = (table: string, column: string) =>
    matrix.find((row) => row.table === table && row.column === column)?.readers;
  expect(readersOf('workspaces', 'drifted')).toContain('queries/findings/drifted-workspace.sql');
  expect(readersOf('authority_certificates', 'not_after'), 'by the view certificates').toContain(
    'queries/findings/intermediate-expiring.sql',
  );
  expect(readersOf('agents', 'status')).not.toContain('queries/findings/run-waiting.sql');
});
