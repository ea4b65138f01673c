import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { HttpTimeouts } from '../../../src/http/timeouts.ts';
import { platform } from '../../../src/services/index.ts';
import {
  createTarget,
  createTestClient,
  type Handler,
  startServer,
  type TestServer,
} from '../../helpers/http-service.ts';

/** Short, but long enough for a collection within each of them on a busy machine. */
const TIMES: Partial<HttpTimeouts> = { headersMs: 1000, idleMs: 600, responseMs: 1500, downloadMs: 1500, attempts: 2 };

let collectGarbage: () => void;
let collecting: NodeJS.Timeout;
const servers: TestServer[] = [];
const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));

beforeAll(() => {
  setFlagsFromString('--expose-gc');
  collectGarbage = runInNewContext('gc') as () => void;
});
beforeEach(() => {
  collecting = setInterval(collectGarbage, 150);
});
afterEach(async () => {
  clearInterval(collecting);
  await Promise.all(servers.splice(0).map((server) => server.close()));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const START = '{"data":[';
const silent: Handler = () => {};
const stall: Handler = (_request, response) => void response.write(START);
const drip: Handler = (_request, response) => {
  response.write(START);
  const timer = setInterval(() => response.write(' '), 50);
  response.on('close', () => clearInterval(timer));
};

async function begin(handle: Handler) {
  const server = await startServer(handle);
  servers.push(server);
  return { server, ...createTestClient(createTarget('platform', server.origin), { timeouts: TIMES }) };
}

describe('while garbage is collected all the time', () => {
  it.each([
    ['silence', silent, 'no response within'],
    ['a body that stalls', stall, 'no data for'],
    ['a body that drips', drip, 'not finished within'],
  ])('%s is given up', async (_, handle, message) => {
    const { server, client } = await begin(handle);
    await expect(client.call(platform.views.list, {})).rejects.toMatchObject({
      failure: 'timeout',
      serviceMessage: expect.stringContaining(message),
    });
    expect(server.requests).toHaveLength(2);
    await client.close();
  });

  it.each([
    ['stalls', stall, 'no data for'],
    ['drips', drip, 'not finished within'],
  ])('a download that %s is given up', async (_, handle, message) => {
    const { client } = await begin(handle);
    const download = client.download(platform.explorer.export, { type: 'workspaces' }, join(folder, 'rows.csv'));
    await expect(download).rejects.toMatchObject({
      failure: 'timeout',
      serviceMessage: expect.stringContaining(message),
    });
    await client.close();
  });

  it.each(['call', 'pages', 'download'] as const)('Ctrl-C ends a %s whose body stalls', async (method) => {
    const { client, abort } = await begin(stall);
    const signal = new AbortController().signal;
    const work = {
      call: () => client.call(platform.views.list, {}, { signal }),
      pages: () => client.pages(platform.views.list, {}, { signal }).next(),
      download: () =>
        client.download(platform.explorer.export, { type: 'workspaces' }, join(folder, 'rows.csv'), { signal }),
    }[method]();
    setTimeout(() => abort.abort(), 500);
    await expect(work).rejects.toMatchObject({ failure: 'aborted' });
    await client.close();
  });

  it('the signal of a call ends it', async () => {
    const { client } = await begin(stall);
    const caller = new AbortController();
    const work = client.pages(platform.views.list, {}, { signal: caller.signal }).next();
    setTimeout(() => caller.abort(), 500);
    await expect(work).rejects.toMatchObject({ failure: 'aborted' });
    await client.close();
  });
});
