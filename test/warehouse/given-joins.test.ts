import { expect, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { openDatabase, withGivenJoins } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';

/** DuckDB expects few rows of `range`, as it does of a CSV. */
const JOIN = 'explain from range(10) as few semi join many on few.range = many.id';

async function openMany() {
  const database = await openDatabase(':memory:');
  onTestFinished(() => database.close());
  await database.run('create table many as select range as id from range(100000)');
  const plan = async () => JSON.stringify(await database.rows(JOIN));
  return { database, plan, files: createSqlFiles([PACKAGE_ROOT]) };
}

test('joins keep their sides while a load reads a landing again, and no longer', async () => {
  const { database, files, plan } = await openMany();
  expect(await plan()).toContain('RIGHT_SEMI');
  const during = await withGivenJoins(database, files, plan);
  expect(during).toContain('SEMI');
  expect(during).not.toContain('RIGHT_SEMI');
  expect(await plan()).toContain('RIGHT_SEMI');
});

test('a load that fails in its transaction is reported by its own error, and later joins are optimized again', async () => {
  const { database, files, plan } = await openMany();
  const load = () => database.transaction(() => database.run("select error('broken')"));
  await expect(withGivenJoins(database, files, load)).rejects.toThrow('broken');
  expect(await plan()).toContain('RIGHT_SEMI');
});
