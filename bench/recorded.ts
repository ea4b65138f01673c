import { createReadStream, createWriteStream } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Recorded } from './prepare.ts';

/** The views of the Explorer, which `prepare.ts` records as CSV exports. */
export const VIEWS = ['workspaces', 'tf_versions', 'providers', 'modules'] as const;
export type View = (typeof VIEWS)[number];

export type RecordedIndex = Record<string, Recorded>;

/** The path of the first page of workspaces, which has their total. */
export const TOTAL_PATH = '/api/v2/organizations/acme/explorer?type=workspaces&page%5Bsize%5D=1';

export const exportPath = (view: View): string => `/api/v2/organizations/acme/explorer/export/csv?type=${view}`;

/** The responses of the folder of a day. */
export async function readIndex(folder: string): Promise<RecordedIndex> {
  return JSON.parse(await readFile(join(folder, 'index.json'), 'utf8')) as RecordedIndex;
}

/** @throws Error when there is no response for the path */
export function findRecorded(index: RecordedIndex, path: string): Recorded {
  const recorded = index[path];
  if (!recorded) throw new Error(`no response was recorded for ${path}`);
  return recorded;
}

/** Writes the body of a response to a file. */
export async function saveBody(folder: string, { start, bytes }: Recorded, file: string): Promise<void> {
  await pipeline(createReadStream(join(folder, 'bodies'), { start, end: start + bytes - 1 }), createWriteStream(file));
}

export async function readBody(folder: string, { start, bytes }: Recorded): Promise<string> {
  const handle = await open(join(folder, 'bodies'));
  try {
    const { buffer } = await handle.read(Buffer.alloc(bytes), 0, bytes, start);
    return buffer.toString('utf8');
  } finally {
    await handle.close();
  }
}
