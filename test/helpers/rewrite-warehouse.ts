import { join } from 'node:path';
import { openDatabase } from '../../src/warehouse/database.ts';
import { recordFingerprint } from '../../src/warehouse/integrity.ts';
import { publishFile, warehouseFiles } from '../../src/warehouse/publish.ts';

/** Changes the warehouse of a project, as another build has published it. */
export async function rewriteWarehouse({ folder }: { readonly folder: string }, statements: readonly string[]) {
  const files = warehouseFiles(join(folder, 'data'));
  const database = await openDatabase(files.work);
  for (const sql of [...statements, 'checkpoint']) await database.run(sql);
  database.close();
  await publishFile(files.work, files.published, 0o400);
  await recordFingerprint(files.work);
}
