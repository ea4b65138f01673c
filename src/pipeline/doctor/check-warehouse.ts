import { existsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import type { Config } from '../../config/config.ts';
import { formatError } from '../../core/errors.ts';
import { openDatabase } from '../../warehouse/database.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
import { type Check, CheckList } from './check.ts';

export async function checkWarehouse(config: Config): Promise<readonly Check[]> {
  const list = new CheckList('warehouse');
  const { published } = warehouseFiles(config.data);
  if (!existsSync(published)) {
    list.ok('published', `none yet at ${published}: \`tidemark pull\` creates it`);
    return list.checks;
  }
  try {
    (await openDatabase(published, { readOnly: true })).close();
    list.ok('published', published);
  } catch (error) {
    list.fail('published', formatError(error));
  }
  const { size } = await stat(published);
  const { bavail, bsize } = await statfs(config.data);
  const free = bavail * bsize;
  const detail = `${formatMebibytes(free)} free, the file takes ${formatMebibytes(size)}`;
  if (free > 3 * size) list.ok('space', detail);
  else list.fail('space', detail);
  return list.checks;
}

function formatMebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 / 1024)} MiB`;
}
