import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import type { HttpTimeouts } from '../../../src/core/context.ts';
import { platform } from '../../../src/services/index.ts';
import { createTarget, createTestClient, type Handler, startServer } from '../../helpers/http-service.ts';

/** Longer than any test: each test shortens the time that it is about, so that a busy machine exceeds no other one. */
const PATIENT = { headersMs: 120_000, idleMs: 120_000, responseMs: 120_000, downloadMs: 120_000, attempts: 2 };
const SHORT_MS = 1000;

let collecting: NodeJS.Timeout;
const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));

beforeAll(() => {
  setFlagsFromString('--expose-gc');
  collecting = setInterval(runInNewContext('gc') as () => void, 150);
});
afterAll(() => {
  clearInterval(collecting);
  rmSync(folder, { recursive: true, force: true });
});

const START = '{"data":[';
const silent: Handler = () => {};
const stall: Handler = (_request, response) => void response.write(START);
const drip: Handler = (_request, response) => {
  response.write(START);
  const timer = setInterval(() => response.write(' '), 50);
  response.on('close', () => clearInterval(timer));
};

async function begin({ onTestFinished, task }: TestContext, handle: Handler, times: Partial<HttpTimeouts> = {}) {
  const server = await startServer(handle);
  onTestFinished(() => server.close());
  const options = { timeouts: { ...PATIENT, ...times } };
  return { server, file: join(folder, task.id), ...createTestClient(createTarget('platform', server.origin), options) };
}

const timeoutWith = (message: string) => ({
  failure: 'timeout',
  serviceMessage: expect.stringContaining(message),
});

// Concurrently, since all of the time is waits.
describe.concurrent('while garbage is collected all the time', () => {
  it.for([
    ['silence', silent, { headersMs: SHORT_MS }, 'no response within'],
    ['a body that stalls', stall, { idleMs: SHORT_MS }, 'no data for'],
    ['a body that drips', drip, { responseMs: SHORT_MS }, 'not finished within'],
  ] as const)('%s is given up', async ([, handle, times, message], context) => {
    const { client, metrics } = await begin(context, handle, times);
    const call = client.call(platform.views.list, {}, { metrics });
    await context.expect(call).rejects.toMatchObject(timeoutWith(message));
    expect(metrics.requests).toBe(2); // counted by the client: an attempt can time out before the server sees it
    await client.close();
  });

  it.for([
    ['stalls', stall, { idleMs: SHORT_MS }, 'no data for'],
    ['drips', drip, { downloadMs: SHORT_MS }, 'not finished within'],
  ] as const)('a download that %s is given up', async ([, handle, times, message], context) => {
    const { client, file } = await begin(context, handle, times);
    const download = client.download(platform.explorer.export, { type: 'workspaces' }, file);
    await context.expect(download).rejects.toMatchObject(timeoutWith(message));
    await client.close();
  });

  it.for(['call', 'pages', 'download'] as const)('Ctrl-C ends a %s whose body stalls', async (method, context) => {
    const { client, abort, file } = await begin(context, stall);
    const signal = new AbortController().signal;
    const work = {
      call: () => client.call(platform.views.list, {}, { signal }),
      pages: () => client.pages(platform.views.list, {}, { signal }).next(),
      download: () => client.download(platform.explorer.export, { type: 'workspaces' }, file, { signal }),
    }[method]();
    setTimeout(() => abort.abort(), 500);
    await context.expect(work).rejects.toMatchObject({ failure: 'aborted' });
    await client.close();
  });

  it('the signal of a call ends it', async (context) => {
    const { client } = await begin(context, stall);
    const caller = new AbortController();
    const work = client.pages(platform.views.list, {}, { signal: caller.signal }).next();
    setTimeout(() => caller.abort(), 500);
    await context.expect(work).rejects.toMatchObject({ failure: 'aborted' });
    await client.close();
  });
});
