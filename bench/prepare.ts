import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { startSandbox } from '../src/sandbox/index.ts';
import type { Sandbox } from '../src/sandbox/types.ts';
import { answerMessages } from './processes.ts';

/** Writes the view `workspaces` of two nights as the sandbox serves it, for `serve.ts`: the sandbox makes each row anew, which costs. */
export interface Wanted {
  readonly folder: string;
  readonly workspaces: number;
  readonly as: 'csv' | 'pages';
}

const PAGE_SIZE = 100;

export const main = () => answerMessages(prepare);

async function prepare({ folder, workspaces, as }: Wanted): Promise<void> {
  const sandbox = await startSandbox({ workspaces });
  try {
    for (const night of as === 'csv' ? ['night1', 'night2'] : ['night1']) {
      await mkdir(join(folder, night), { recursive: true });
      await (as === 'csv' ? saveCsv : savePages)(sandbox, join(folder, night));
      sandbox.advance();
    }
  } finally {
    await sandbox.close();
  }
}

async function saveCsv(sandbox: Sandbox, folder: string): Promise<void> {
  const page = (await (await ask(sandbox, 'explorer?type=workspaces&page[size]=1')).json()) as Paged;
  await writeFile(join(folder, 'first.json'), JSON.stringify(page));
  const { body } = await ask(sandbox, 'explorer/export/csv?type=workspaces');
  await finished(Readable.fromWeb(body as ReadableStream).pipe(createWriteStream(join(folder, 'workspaces.csv'))));
}

interface Paged {
  readonly meta: { readonly pagination: { readonly 'total-pages': number } };
}

async function savePages(sandbox: Sandbox, folder: string): Promise<void> {
  const out = createWriteStream(join(folder, 'pages.ndjson'));
  for (let page = 1, pages = 1; page <= pages; page++) {
    const answer = await ask(sandbox, `explorer?type=workspaces&page[size]=${PAGE_SIZE}&page[number]=${page}`);
    const text = await answer.text();
    pages = (JSON.parse(text) as Paged).meta.pagination['total-pages'];
    if (!out.write(`${text}\n`)) await once(out, 'drain');
  }
  out.end();
  await finished(out);
}

function ask({ urls, tokens }: Sandbox, path: string): Promise<Response> {
  const headers = { authorization: `Bearer ${tokens.platform.read}` };
  return fetch(`${urls.platform}/api/v2/organizations/acme/${path}`, { headers });
}
