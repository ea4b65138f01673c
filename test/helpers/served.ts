import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { buildCommand, type RunningCommand, startCommand } from './built-command.ts';
import { changePublished } from './change-warehouse.ts';
import { prepareOnce } from './prepared.ts';
import { type Cleanup, tempFolder } from './temp.ts';
import { testProject } from './test-project.ts';

/** A name that breaks out of markup, attributes, scripts, CSV and terminals where it is not escaped. */
export const HOSTILE = `"><img src=x onerror="document.title='owned'"><script>document.title='owned'</script>'=1+1\u001b[31m`;

/** The workspace that has this name, in all of its versions. */
export const HOSTILE_ID = 'ws-hostile';

/** Copies a project of two runs, with reports. A workspace has a hostile name. */
export async function copyServedProject(cleanup: Cleanup = onTestFinished): Promise<string> {
  const prepared = await prepareOnce('served', async (folder) => {
    const ends: (() => Promise<void>)[] = [];
    const place = await testProject({ workspaces: 20, cleanup: (end) => void ends.push(end) });
    const night = async () => {
      const { exit, stderr } = await place.tidemark(['run', 'nightly']);
      if (exit !== 0) throw new Error(stderr);
      place.sandbox.tick();
    };
    const jobs = join(place.folder, 'jobs');
    await mkdir(jobs);
    await writeFile(join(jobs, 'nightly.yaml'), 'pull: all\nreports: []\n'); // those of the second run replace its reports
    await night();
    await rm(jobs, { recursive: true });
    await night();
    for (const name of ['tidemark.yaml', 'data', 'out'])
      await cp(join(place.folder, name), join(folder, name), { recursive: true });
    await changePublished(folder, async (database) => {
      await database.run(
        `update workspaces_history set workspace_name = $name, external_id = $id
        where external_id = (select min(external_id) from workspaces)`,
        { name: HOSTILE, id: HOSTILE_ID },
      );
    });
    for (const end of ends.reverse()) await end();
  });
  const folder = await tempFolder(cleanup);
  await cp(prepared, folder, { recursive: true });
  return folder;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Served extends RunningCommand {
  readonly url: string;
  /** Process IDs of the workers. */
  workers(): readonly number[];
  /** @param from the address of the reader */
  get(path: string, headers?: Record<string, string>, from?: string): Promise<Answer>;
}

/** Starts `tidemark serve` in a project's folder, in a process of its own. */
export async function startServe(
  folder: string,
  words: readonly string[] = [],
  { cleanup = onTestFinished, env = {} }: { cleanup?: Cleanup; env?: NodeJS.ProcessEnv } = {},
): Promise<Served> {
  const command = await buildCommand();
  const running = startCommand(command, ['serve', '--port', '0', ...words], folder, {
    TMPDIR: inject('prepared'),
    ...env,
  });
  cleanup(async () => {
    running.process.kill('SIGKILL');
    await running.ended;
  });
  const url = await readUrl(running);
  return {
    ...running,
    url,
    workers: () => {
      const { pid } = running.process;
      return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
    },
    get: (path, headers = {}, from = '127.0.0.1') => ask(url, path, headers, from),
  };
}

async function readUrl({ process, ended }: RunningCommand): Promise<string> {
  const stdout = process.stdout as NodeJS.ReadableStream;
  const result = await Promise.race([once(stdout, 'data'), ended]);
  if (Array.isArray(result)) return String(result[0]).trim();
  throw new Error(`serve ended with ${result.exit}: ${result.stderr}`);
}

/** Rejects if the answer is cut off. */
async function ask(url: string, path: string, headers: Record<string, string>, from: string): Promise<Answer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    // `path` as it is: `URL` would resolve `..` before the server sees it
    request({ hostname, port, path, headers, localAddress: from, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (part) => {
        body += part;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    })
      .on('error', reject)
      .end();
  });
}

/** `/query.FORMAT` for SQL. */
export function queryPath(sql: string, format = 'csv'): string {
  return `/query.${format}?${new URLSearchParams({ sql })}`;
}

export const HTML = { accept: 'text/html' };

/** A page of the server made the request. */
export const OWN = { ...HTML, 'sec-fetch-site': 'same-origin' };
