import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, loadConfig } from '../src/config/config.ts';
import { PACKAGE_ROOT } from '../src/core/paths.ts';
import { Redactor } from '../src/core/redact/redactor.ts';
import { openDatabase, type SqlParams } from '../src/warehouse/database.ts';
import { migrate } from '../src/warehouse/migrate.ts';
import { warehouseFiles } from '../src/warehouse/publish.ts';
import { createSqlFiles } from '../src/warehouse/sql-files.ts';

/** A project whose warehouse is filled by SQL, without a service. */
export async function createProject(
  folder: string,
  name: string,
  { hasWarehouse = true, memoryLimit = '1GB' } = {},
): Promise<Config> {
  const project = join(folder, name);
  await mkdir(join(project, 'data', 'work'), { recursive: true });
  const file = join(project, 'tidemark.yaml');
  const targets = "targets:\n  - { name: scaler, kind: autoscaler, url: 'http://127.0.0.1:1' }\n";
  await writeFile(file, `memoryLimit: ${memoryLimit}\n${targets}`);
  const config = loadConfig(file, {}, new Redactor(), { needsSecrets: false });
  if (!hasWarehouse) return config;
  const database = await openDatabase(warehouseFiles(config.data).published);
  const files = createSqlFiles([PACKAGE_ROOT]);
  await migrate(database, files);
  database.close();
  return config;
}

/** Runs statements in a warehouse file. */
export async function changeWarehouse(file: string, statements: readonly string[], params: SqlParams): Promise<void> {
  const database = await openDatabase(file);
  try {
    for (const sql of statements) await database.run(sql, params);
  } finally {
    database.close();
  }
}
