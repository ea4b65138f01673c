import type { Config } from '../config/config.ts';
import { overlayRoots } from '../core/paths.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import { createSqlFiles } from '../warehouse/sql-files.ts';
import { openWithOwnFolder } from '../warehouse/temporary-folder.ts';
import { createLakeReader } from './reader.ts';
import type { LakeStore } from './store.ts';
import { readVisible } from './visible.ts';

/** The time up to which readers of the lake see the runs of this warehouse; undefined where they see none. */
export async function readPublishedUntil(config: Config, store: LakeStore): Promise<Date | undefined> {
  const options = { readOnly: true, memoryLimit: config.memoryLimit };
  const database = await openWithOwnFolder(warehouseFiles(config.data).published, options, config.data);
  try {
    const reader = createLakeReader(store, database, createSqlFiles(overlayRoots(config.directory)));
    const { after } = await readVisible(reader, config.shard?.index ?? 0);
    return after === undefined ? undefined : new Date(after);
  } finally {
    database.close();
  }
}
