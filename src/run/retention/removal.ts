import { stat } from 'node:fs/promises';
import { landingBytes } from '../../landing/store.ts';

/** What goes of a table or of a folder. */
export interface Removal {
  /** A table, or `ledger`, `landings`, `plans` and `reports`. */
  readonly what: string;
  readonly count: number;
  /** Of the files, or of the text of the rows. */
  readonly bytes: number;
}

export async function measureFiles(what: string, paths: readonly string[]): Promise<Removal> {
  const sizes = await Promise.all(paths.map(measurePath));
  return { what, count: paths.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

async function measurePath(path: string): Promise<number> {
  const entry = await stat(path);
  return entry.isDirectory() ? landingBytes(path) : entry.size;
}
