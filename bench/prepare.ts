import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { startSandbox } from '../src/sandbox/index.ts';
import type { Sandbox } from '../src/sandbox/types.ts';
import { serveMessages } from './processes.ts';

/** Saves the view `workspaces` of two days for `serve.ts`: the sandbox would build each row for each request. */
export interface PrepareRequest {
  readonly folder: string;
  readonly workspaces: number;
  readonly as: 'csv' | 'pages';
}

const PAGE_SIZE = 100;

export const main = () => serveMessages(prepare);

async function prepare({ folder, workspaces, as }: PrepareRequest): Promise<void> {
  const sandbox = await startSandbox({ workspaces });
  try {
    for (const day of as === 'csv' ? ['day1', 'day2'] : ['day1']) {
      await mkdir(join(folder, day), { recursive: true });
      await (as === 'csv' ? saveCsv : savePages)(sandbox, join(folder, day));
      sandbox.tick();
    }
  } finally {
    await sandbox.close();
  }
}

async function saveCsv(sandbox: Sandbox, folder: string): Promise<void> {
  const page = (await (await request(sandbox, 'explorer?type=workspaces&page[size]=1')).json()) as Paged;
  await writeFile(join(folder, 'first.json'), JSON.stringify(page));
  const { body } = await request(sandbox, 'explorer/export/csv?type=workspaces');
  await finished(Readable.fromWeb(body as ReadableStream).pipe(createWriteStream(join(folder, 'workspaces.csv'))));
}

interface Paged {
  readonly meta: { readonly pagination: { readonly 'total-pages': number } };
}

async function savePages(sandbox: Sandbox, folder: string): Promise<void> {
  const out = createWriteStream(join(folder, 'pages.ndjson'));
  for (let page = 1, pages = 1; page <= pages; page++) {
    const response = await request(sandbox, `explorer?type=workspaces&page[size]=${PAGE_SIZE}&page[number]=${page}`);
    const text = await response.text();
    pages = (JSON.parse(text) as Paged).meta.pagination['total-pages'];
    if (!out.write(`${text}\n`)) await once(out, 'drain');
  }
  out.end();
  await finished(out);
}

function request({ urls, tokens }: Sandbox, path: string): Promise<Response> {
  const headers = { authorization: `Bearer ${tokens.platform.read}` };
  return fetch(`${urls.platform}/api/v2/organizations/acme/${path}`, { headers });
}
