import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startServer } from '../../src/ask/serve/server.ts';
import { loadConfig } from '../../src/config/config.ts';
import { systemClock } from '../../src/core/clock.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { testProject } from '../helpers/test-project.ts';

test('a query that does not end within the time for it is broken off when the server ends', async () => {
  const place = await testProject({ workspaces: 5 });
  await place.pull(['--source', 'ca_roots']);
  const config = loadConfig(join(place.folder, 'tidemark.yaml'), {}, new Redactor());
  const errors: string[] = [];
  const log = { info: () => {}, warn: () => {}, error: (line: string) => void errors.push(line) };
  const listening = {
    config,
    address: '127.0.0.1',
    port: 0,
    workers: 1,
    hosts: [],
    token: undefined,
    playbooks: async () => [],
  };
  const context = { env: process.env, log, clock: systemClock };
  const server = await startServer(listening, context);
  const ask = (path: string) => fetch(new URL(path, server.url));
  const slow = ask(`/query.csv?${new URLSearchParams({ sql: 'select sleep_ms(600000) as n' })}`);
  await expect.poll(async () => ((await (await ask('/state.json')).json()) as { running: number }).running).toBe(1);
  await server.close();
  const { status, body } = await slow.then(async (answer) => ({ status: answer.status, body: await answer.text() }));
  expect([status, body]).toEqual([503, 'the server ends\n']);
  await expect(ask('/')).rejects.toThrow('fetch failed');
  expect(errors).toEqual([]);
});
