import { existsSync } from 'node:fs';
import { appendFile, link, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findRecorded, type RecordedIndex, readBody, readIndex } from './recorded.ts';
import type { Bench } from './result.ts';

const VIEWS_PATH = '/api/v2/organizations/acme/explorer/views';
/** A saved view of the sandbox with a few rows: dlt fails where no view has any. */
const KEPT = 'Private modules';

/** The same estate with one small saved view. @returns its folder in `estates` */
export async function keepOneView({ estates }: Bench, estate: string): Promise<string> {
  const name = `${estate}-one-view`;
  if (existsSync(join(estates, name))) return name;
  for (const day of ['day1', 'day2']) await copyDay(join(estates, estate, day), join(estates, name, day));
  return name;
}

/** Both estates have one file of bodies, at whose end the shorter list is. */
async function copyDay(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  const bodies = join(to, 'bodies');
  await link(join(from, 'bodies'), bodies);
  const index: RecordedIndex = await readIndex(from);
  const list = findRecorded(index, VIEWS_PATH);
  const text = shorten(await readBody(from, list));
  const { size: start } = await stat(bodies);
  await appendFile(bodies, text);
  index[VIEWS_PATH] = { ...list, start, bytes: Buffer.byteLength(text) };
  await writeFile(join(to, 'index.json'), JSON.stringify(index));
}

function shorten(list: string): string {
  const { data } = JSON.parse(list) as { readonly data: readonly { readonly attributes: { readonly name: string } }[] };
  return JSON.stringify({ data: data.filter(({ attributes }) => attributes.name === KEPT) });
}
