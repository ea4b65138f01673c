import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import type { RunningSandbox } from '../sandbox/index.ts';
import { startSandbox } from '../sandbox/index.ts';
import { run as runCommand } from '../src/cli.ts';
import { Redactor } from '../src/core/redact/redactor.ts';
import { writeConfig } from './estate.ts';
import { serveMessages } from './processes.ts';

/** Records the responses of two days for `serve.ts`: the sandbox would build each row for each request. */
export interface PrepareRequest {
  readonly folder: string;
  readonly workspaces: number;
  readonly as: 'csv' | 'json';
}

/** Where a response is in the file `bodies` of a day, by path and query: the file `index.json`. */
export interface Recorded {
  readonly start: number;
  readonly bytes: number;
  readonly status: number;
  readonly type: string;
}

export const main = () => serveMessages(prepare);

async function prepare({ folder, workspaces, as }: PrepareRequest): Promise<void> {
  const sandbox = await startSandbox({ workspaces });
  try {
    for (const day of ['day1', 'day2']) {
      await record(sandbox, join(folder, day), as);
      sandbox.tick();
      sandbox.log.length = 0;
    }
  } finally {
    await sandbox.close();
  }
}

/** Pulls all sources of the platform through a proxy that writes what passes. */
async function record(sandbox: RunningSandbox, folder: string, as: PrepareRequest['as']): Promise<void> {
  await mkdir(folder, { recursive: true });
  const recorder = new Recorder(sandbox, createWriteStream(join(folder, 'bodies')));
  const server = createServer((request, response) => {
    recorder.pass(request, response).catch((error: Error) => response.destroy(error));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const token = sandbox.tokens.platform.read;
  const pulled = join(folder, 'pull');
  const config = await writeConfig(pulled, 'tidemark', { url: `http://127.0.0.1:${port}`, token, explorer: as });
  await pull(pulled, ['--config', config, '--quiet', 'pull']);
  server.close().closeAllConnections();
  await rm(pulled, { recursive: true });
  await writeFile(join(folder, 'index.json'), JSON.stringify(await recorder.end()));
}

class Recorder {
  readonly #sandbox: RunningSandbox;
  readonly #bodies: WriteStream;
  readonly #index: Record<string, Recorded> = {};
  #bytes = 0;
  /** Bodies are written one after another. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(sandbox: RunningSandbox, bodies: WriteStream) {
    this.#sandbox = sandbox;
    this.#bodies = bodies;
  }

  pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const next = this.#last.then(() => this.#pass(request.url ?? '/', response));
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #pass(path: string, response: ServerResponse): Promise<void> {
    const { urls, tokens } = this.#sandbox;
    const headers = { authorization: `Bearer ${tokens.platform.read}` };
    const { status, headers: received, body } = await fetch(`${urls.platform}${path}`, { headers });
    const type = received.get('content-type') ?? '';
    response.writeHead(status, { 'content-type': type });
    const start = this.#bytes;
    for await (const chunk of Readable.fromWeb(body as ReadableStream)) {
      this.#bytes += (chunk as Buffer).length;
      if (!this.#bodies.write(chunk)) await once(this.#bodies, 'drain');
      response.write(chunk);
    }
    response.end();
    this.#index[path] = { start, bytes: this.#bytes - start, status, type };
  }

  async end(): Promise<Readonly<Record<string, Recorded>>> {
    this.#bodies.end();
    await finished(this.#bodies);
    return this.#index;
  }
}

/** Runs the command in this process. @throws Error with its messages when it fails */
export async function pull(folder: string, argv: readonly string[]): Promise<void> {
  let messages = '';
  const code = await runCommand(argv, {
    program: 'tidemark',
    cwd: folder,
    env: {},
    stdout: () => {},
    stderr: (text) => {
      messages += text;
    },
    readStdin: async () => '',
    readLine: async () => '',
    drain: async () => {},
    stdinIsTerminal: false,
    console: undefined,
    screen: undefined,
    terminal: undefined,
    redactor: new Redactor(),
    signal: new AbortController().signal,
  });
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${messages}`);
}
