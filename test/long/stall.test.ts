import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { DEFAULT_TIMEOUTS } from '../../src/core/context.ts';
import { platform } from '../../src/services/index.ts';
import { createTarget, createTestClient, type Handler, startServer } from '../helpers/http-service.ts';

const START = '{"data":[';
const silent: Handler = () => {};
const stall: Handler = (_request, response) => void response.write(START);
const drip: Handler = (_request, response) => {
  response.write(START);
  const timer = setInterval(() => response.write(' '), 1000);
  response.on('close', () => clearInterval(timer));
};

/** Seconds until a request with the default times is given up, and why. */
async function measure(handle: Handler): Promise<{ readonly seconds: number; readonly message: string }> {
  const server = await startServer(handle);
  const { client } = createTestClient(createTarget('platform', server.origin), {
    timeouts: { ...DEFAULT_TIMEOUTS, attempts: 1 },
  });
  const startedMs = performance.now();
  const error = await client.call(platform.views.list, {}).catch((caught: unknown) => caught as Error);
  await client.close();
  await server.close();
  return {
    seconds: (performance.now() - startedMs) / 1000,
    message: error instanceof Error ? error.message : 'no error',
  };
}

test('with the default times and garbage collection, a silent, a stalled and a dripping response are given up', async () => {
  setFlagsFromString('--expose-gc');
  const collecting = setInterval(runInNewContext('gc') as () => void, 2000);
  const [silence, stalled, dripped] = await Promise.all([measure(silent), measure(stall), measure(drip)]);
  clearInterval(collecting);
  expect(silence.message).toContain('no response within 90 s');
  expect(stalled.message).toContain('no data for 60 s');
  expect(dripped.message).toContain('not finished within 300 s');
  for (const [{ seconds }, limit] of [
    [silence, 90],
    [stalled, 60],
    [dripped, 300],
  ] as const) {
    expect(seconds).toBeGreaterThan(limit - 1);
    expect(seconds).toBeLessThan(limit + 15);
  }
});
