import { existsSync } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Database } from './database.ts';
import { CorruptDatabaseError } from './integrity.ts';
import { quoteIdent, type SqlFiles } from './sql-files.ts';

/** Stands beside a file while it is as its last session left it. */
const fingerprintPath = (file: string) => join(dirname(file), 'as-left.json');

async function readFingerprint(file: string): Promise<string> {
  const { size, mtimeMs, ino } = await stat(file);
  return JSON.stringify({ size, mtimeMs, ino });
}

/** Notes how a session leaves a file that it closed whole. */
export async function recordFingerprint(file: string): Promise<void> {
  await writeFile(fingerprintPath(file), await readFingerprint(file));
}

/** Whether nobody has touched a file since `noteAsLeft`; the note is good for once, since it is opened for writing now. */
export async function isUnchanged(file: string): Promise<boolean> {
  const mark = fingerprintPath(file);
  if (!existsSync(mark) || !existsSync(file)) return false;
  const same = (await readFile(mark, 'utf8')) === (await readFingerprint(file));
  await rm(mark);
  return same;
}

/**
 * Reads all of a database.
 * @param begun whether it was a warehouse before: one without runs would then be published over the good one
 * @throws what DuckDB says of a block that is damaged; Damaged when it is another database.
 */
export async function verifyChecksums(database: Database, files: SqlFiles, begun: boolean): Promise<void> {
  const tables = (await database.rows(await files.read('warehouse/stored_tables'))).map(({ name }) => String(name));
  if (begun && !tables.includes('runs')) throw new CorruptDatabaseError('the working file holds no warehouse');
  for (const name of tables)
    await database.run(await files.render('warehouse/scan_table', { table: quoteIdent(name) }));
}
