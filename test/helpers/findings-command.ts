import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { publishFile, warehouseFiles } from '../../src/warehouse/publish.ts';
import { type CliRun, cli } from './cli.ts';
import { createFindingsWarehouse, type FindingsWarehouse } from './findings-warehouse.ts';
import { type Cleanup, tempFolder } from './temp.ts';

const NOW = '2026-11-19T08:00:00Z';

/** Runs `tidemark findings …` with the configuration of a folder, some hours after the last run. */
export function findings(
  cwd: string,
  args: readonly string[],
  { json = false, now = NOW }: { json?: boolean; now?: string } = {},
): Promise<CliRun> {
  return cli(['findings', ...args, ...(json ? ['--json'] : []), '--now', now], { cwd });
}

/** A folder with a configuration of two targets, and no data. */
export async function emptyProject(cleanup?: Cleanup): Promise<string> {
  const folder = await tempFolder(cleanup);
  const target = (name: string, kind: string) =>
    `  - { name: ${name}, kind: ${kind}, url: "http://127.0.0.1:1", organization: o, token: t }\n`;
  await writeFile(
    join(folder, 'tidemark.yaml'),
    `targets:\n${target('acme', 'platform')}${target('vault', 'secrets')}`,
  );
  return folder;
}

/** Fills the working warehouse of a project, and publishes it. */
export async function publishWarehouse(
  directory: string,
  cleanup: Cleanup,
  fill: (warehouse: FindingsWarehouse) => Promise<void>,
): Promise<void> {
  const files = warehouseFiles(join(directory, 'data'));
  await mkdir(dirname(files.work), { recursive: true });
  const warehouse = await createFindingsWarehouse({ file: files.work, cleanup });
  await fill(warehouse);
  await warehouse.database.run('checkpoint');
  warehouse.database.close();
  await publishFile(files.work, files.published, 0o644);
}
