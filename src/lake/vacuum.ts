import type { Database } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { createLakeReader } from './reader.ts';
import { type LakeStore, STAGING, type StoredFile } from './store.ts';
import { listUnnamed } from './verify.ts';

export interface VacuumOptions {
  /** Younger files may belong to a publish in progress. */
  readonly olderThanMs: number;
  readonly nowMs: number;
  /** Lists the files and keeps them. */
  readonly isDryRun: boolean;
}

/** Removes files that no log names: what killed publishes have left. */
export async function vacuumLake(
  store: LakeStore,
  database: Database,
  files: SqlFiles,
  { olderThanMs, nowMs, isDryRun }: VacuumOptions,
): Promise<readonly StoredFile[]> {
  const unnamed = [...(await store.list(STAGING))];
  const reader = createLakeReader(store, database, files);
  for (const table of (await reader.snapshots()).keys()) unnamed.push(...(await listUnnamed(reader, table)));
  const old = unnamed.filter(({ modifiedMs }) => modifiedMs <= nowMs - olderThanMs);
  if (!isDryRun) for (const { path } of old) await store.remove(path);
  return old;
}
