import { chmod, copyFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { publishFile, recordFingerprint, warehouseFiles } from '../../src/warehouse/publish.ts';

/** Copies a warehouse file. The copy can be changed: what a run has published is read-only, for all users but root. */
export async function copyWarehouse(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await chmod(to, 0o600);
}

/** Says that another version has defined what a warehouse has: a test takes from it what that version did not know. */
export function setEarlierVersion(database: Pick<Database, 'run'>): Promise<void> {
  return database.run('delete from schema_digest');
}

/** Replaces the published warehouse of a project by a changed copy, as a run does. */
export async function changePublished(folder: string, work: (database: Database) => Promise<unknown>): Promise<void> {
  const { published } = warehouseFiles(join(folder, 'data'));
  const copy = `${published}.copy`;
  await copyWarehouse(published, copy);
  const database = await openDatabase(copy, { threads: 1 });
  await work(database);
  database.close();
  await publishFile(copy, published, (await stat(published)).mode & 0o777);
  await rm(copy);
}

/** Changes the warehouse of a project, as another build has published it. */
export async function rewriteWarehouse({ folder }: { readonly folder: string }, statements: readonly string[]) {
  const files = warehouseFiles(join(folder, 'data'));
  const database = await openDatabase(files.work);
  for (const sql of [...statements, 'checkpoint']) await database.run(sql);
  database.close();
  await publishFile(files.work, files.published, 0o400);
  await recordFingerprint(files.work);
}
