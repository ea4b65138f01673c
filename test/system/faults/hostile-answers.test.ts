import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ServiceError } from '../../../src/http/errors.ts';
import type { Operation } from '../../../src/services/operation.ts';
import { HOSTILE_ANSWERS, type HostileAnswer } from '../../helpers/hostile-answers.ts';
import { createTarget, createTestClient, startServer, TOKEN } from '../../helpers/http-service.ts';

const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MAX_REQUESTS = 40;

/** Asks as a source would. @returns `ok`, the kind of the failure, or the name of another error */
async function ask({ kind, operation, method, handle }: HostileAnswer, file: string) {
  const server = await startServer(handle);
  const limits = { concurrency: 8, share: 1, maxPages: 20 };
  const { client } = createTestClient(createTarget(kind, server.origin, { limits }), {
    timeouts: {
      maxResponseBytes: 1_000_000,
      maxDownloadBytes: 1_000_000,
      headersMs: 120_000,
      idleMs: 120_000,
      attempts: 3,
    },
  });
  const methods = {
    call: async () => void (await client.call<Operation>(operation, {})),
    pages: async () => {
      for await (const _ of client.pages<Operation>(operation, {}));
    },
    download: async () => void (await client.download<Operation>(operation, { type: 'workspaces' }, file)),
  };
  const error = await methods[method]().then(
    () => undefined,
    (caught: unknown) => caught as Error,
  );
  await client.close();
  await server.close();
  const outcome = error instanceof ServiceError ? error.failure : (error?.name ?? 'ok');
  return { outcome, message: error?.message ?? '', requests: server.requests.length };
}

test('there are 300 of them, each with a name of its own', () => {
  expect(HOSTILE_ANSWERS.length).toBeGreaterThanOrEqual(300);
  expect(new Set(HOSTILE_ANSWERS.map(({ name }) => name)).size).toBe(HOSTILE_ANSWERS.length);
});

// Concurrently, since most of the time is waits.
test.concurrent.for(HOSTILE_ANSWERS.map((answer) => [answer.name, answer.expected, answer] as const))(
  '%s: %s',
  async ([, expected, answer], { task }) => {
    const { outcome, message, requests } = await ask(answer, join(folder, task.id));
    expect(`${outcome} ${message}`).toMatch(new RegExp(`^${expected} `, 'u'));
    expect(message).not.toContain(TOKEN);
    expect(message).not.toContain('\n');
    expect(message.length).toBeLessThan(700);
    expect(requests).toBeLessThan(MAX_REQUESTS);
  },
);
