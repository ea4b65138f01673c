import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findErrorPosition } from '../../src/ask/serve/query-pages.ts';
import { errorMessage } from '../../src/core/errors.ts';

let instance: DuckDBInstance;
beforeAll(async () => {
  instance = await DuckDBInstance.create();
});
afterAll(() => instance.closeSync());

/** DuckDB's own message for a query. */
async function failWith(query: string): Promise<string> {
  const connection = await instance.connect();
  try {
    await connection.prepare(query);
  } catch (error) {
    return errorMessage(error);
  } finally {
    connection.closeSync();
  }
  throw new Error('the query is valid');
}

const LONG = `select ${Array.from({ length: 40 }, (_, index) => `${index} as column_${index}`).join(', ')}, missing, 1 as after, 2 as last_of_a_long_line from range(3)`;

test.each([
  ['select 1\n  from nowhere', { line: 2, column: 8 }],
  ['select 1,\n  2 3 4', { line: 2, column: 5 }],
  ['select missing', { line: 1, column: 8 }],
  [LONG, { line: 1, column: LONG.indexOf('missing') + 1 }],
])('the place of the error in %j', async (query, position) => {
  expect(findErrorPosition(await failWith(query), query)).toEqual(position);
});

test('a message without a place has none', () => {
  expect(findErrorPosition('the query needs more than 1GB of memory', 'select 1')).toBeUndefined();
  expect(findErrorPosition('LINE 7: select x\n               ^', 'select x')).toBeUndefined();
});
