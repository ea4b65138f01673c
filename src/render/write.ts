import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stringify } from 'lossless-json';
import type { Contents } from './press.ts';

/** JSON with 64-bit integers whole. */
export function jsonText(data: object): string {
  return `${stringify(data, undefined, 2)}\n`;
}

/** A reader finds the old file or the new one, never half of it. */
export async function writeWhole(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const next = `${path}.next`;
  await writeFile(next, content);
  await rename(next, path);
}

/** Writes a report's files, and removes CSV of tables that are no longer cut. */
export async function writeFiles(out: string, report: string, contents: Contents): Promise<void> {
  for (const [name, content] of contents) await writeWhole(join(out, name), content);
  for (const name of await readdir(out)) {
    const former = name.startsWith(`${report}.`) && name.endsWith('.csv') && !contents.has(name);
    if (former) await rm(join(out, name));
  }
}
