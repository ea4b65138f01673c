import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { DEFAULT_TIMEOUTS } from '../../src/core/context.ts';
import { platform } from '../../src/services/index.ts';
import { createTarget, createTestClient, type Handler, startServer } from '../helpers/http-service.ts';

const START = '{"data":[';
const silent: Handler = () => {};
const stall: Handler = (_request, response) => void response.write(START);
const drip =
  (bytes: number): Handler =>
  (_request, response) => {
    response.write(START);
    const timer = setInterval(() => response.write(' '.repeat(bytes)), 1000);
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

test('with the default times and garbage collection, a silent, a stalled, a slow and a long response are given up', async () => {
  setFlagsFromString('--expose-gc');
  const collecting = setInterval(runInNewContext('gc') as () => void, 2000);
  const handlers = [silent, stall, drip(1), drip(2048)] as const;
  const [silence, stalled, slow, long] = await Promise.all(handlers.map(measure));
  clearInterval(collecting);
  for (const [given, limit, reason] of [
    [silence, 90, /no response within 90 s/u],
    [stalled, 60, /no data for 60 s|less than 1 KiB\/s for 60 s/u], // both limits end at the same time
    [slow, 60, /less than 1 KiB\/s for 60 s/u],
    [long, 300, /not finished within 300 s/u],
  ] as const) {
    expect(given?.message).toMatch(reason);
    expect(given?.seconds).toBeGreaterThan(limit - 1);
    expect(given?.seconds).toBeLessThan(limit + 15);
  }
});
