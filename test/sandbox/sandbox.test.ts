import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { RunningSandbox, StartOptions } from '../../sandbox/index.ts';
import { KINDS } from '../../sandbox/types.ts';
import { loadConfig } from '../../src/config/config.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { call, ORGANIZATION } from './platform-client.ts';

const open: RunningSandbox[] = [];

async function start(options: StartOptions = {}): Promise<RunningSandbox> {
  const sandbox = await startTestSandbox(options);
  open.push(sandbox);
  return sandbox;
}

afterEach(() => Promise.all(open.splice(0).map((sandbox) => sandbox.close())));

const PATHS = [
  `${ORGANIZATION}/explorer/export/csv?type=workspaces`,
  `${ORGANIZATION}/explorer/export/csv?type=modules`,
  `${ORGANIZATION}/agent-pools?include=workspaces`,
  `${ORGANIZATION}/explorer/views`,
];

/** Answers of the platform without the port, which is the only thing that may differ. */
async function answersOf(sandbox: RunningSandbox): Promise<string[]> {
  const texts = await Promise.all(PATHS.map(async (path) => (await call(sandbox, path)).text()));
  return texts.map((text) => text.replaceAll(sandbox.urls.platform, 'URL'));
}

async function listen(port: number): Promise<Server> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** A port in use whose predecessor is free. */
async function takenPort(): Promise<{ blocker: Server; before: number }> {
  const blocker = await listen(0);
  const before = (blocker.address() as AddressInfo).port - 1;
  try {
    (await listen(before)).close();
    return { blocker, before };
  } catch {
    blocker.close();
    return takenPort();
  }
}

describe('a sandbox', () => {
  test('with the same options on the same day gives the same responses byte for byte', async () => {
    const [one, two] = [await start({ seed: 7 }), await start({ seed: 7 })];
    expect(two.tokens).toEqual(one.tokens);
    for (let day = 0; day < 4; day++) {
      const answers = await answersOf(one);
      expect(await answersOf(two)).toEqual(answers);
      one.tick();
      two.tick();
      expect(await answersOf(one)).not.toEqual(answers);
    }
    expect(await answersOf(await start({ seed: 8 }))).not.toEqual(await answersOf(await start({ seed: 7 })));
  });

  test('advances its time by one day per tick', async () => {
    const sandbox = await start({ start: new Date('2027-03-01T00:00:00Z') });
    expect([sandbox.day, sandbox.now.toISOString()]).toEqual([0, '2027-03-01T00:00:00.000Z']);
    sandbox.tick();
    expect([sandbox.day, sandbox.now.toISOString()]).toEqual([1, '2027-03-02T00:00:00.000Z']);
  });

  test('leaves no port open when one of its six is in use', async () => {
    const { blocker, before } = await takenPort();
    try {
      await expect(startTestSandbox({ port: before })).rejects.toThrow(/EADDRINUSE/);
      await (await listen(before)).close();
    } finally {
      blocker.close();
    }
  });

  test.each(['spec', 'hashicorp'] as const)('renders a complete configuration (%s)', async (flavor) => {
    const sandbox = await start({ flavor, rate: 30 });
    const text = sandbox.config();
    const { targets } = parse(text) as { targets: Record<string, unknown>[] };
    expect(targets.map(({ name, kind }) => [name, kind])).toEqual([
      ['acme', 'platform'],
      ['vault', 'secrets'],
      ['nomad', 'scheduler'],
      ['scaler', 'autoscaler'],
      ['consul', 'mesh'],
      ['registry', 'registry'],
    ]);
    expect(targets.map(({ url }) => url)).toEqual(KINDS.map((kind) => sandbox.urls[kind]));
    expect(targets[0]).toMatchObject({
      organization: 'acme',
      token: sandbox.tokens.platform.read,
      writeToken: sandbox.tokens.platform.write,
      limits: { requestsPerSecond: 30 },
    });
    expect(targets[4]?.services).toEqual(expect.arrayContaining(['web', 'api', 'billing']));
    expect(targets.map((target) => target.flavor)).toEqual(
      KINDS.map(() => (flavor === 'hashicorp' ? flavor : undefined)),
    );
    const file = join(await mkdtemp(join(tmpdir(), 'tidemark-')), 'tidemark.yaml');
    await writeFile(file, text);
    expect(loadConfig(file, {}, new Redactor()).targets).toHaveLength(6);
  });

  test('responds to pings with a valid token', async () => {
    const sandbox = await start({ rate: 50 });
    const answer = await call(sandbox, '/ping');
    expect(answer.status).toBe(204);
    expect(answer.headers.get('x-ratelimit-limit')).toBe('50');
    expect((await call(sandbox, '/ping', { token: 'wrong' })).status).toBe(401);
  });
});
