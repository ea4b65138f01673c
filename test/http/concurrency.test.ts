import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { platform } from '../../src/services/index.ts';
import { createTarget, createTestClient } from '../helpers/http-service.ts';
import { serve } from './call-outcome.ts';

describe('concurrency', () => {
  it('no more requests are in progress than the target allows, and those that wait for their retry hold no slot', async () => {
    let inProgress = 0;
    let most = 0;
    const server = await serve((request, response) => {
      inProgress++;
      most = Math.max(most, inProgress);
      void sleep(5).then(async () => {
        while (most < 2) await sleep(1); // the first one is not answered before the second has arrived
        inProgress--;
        if (request.url?.endsWith('/agents/slow')) response.writeHead(503).end();
        else response.end('{"data":{}}');
      });
    });
    const { client, abort } = createTestClient(
      createTarget('platform', server.origin, { limits: { concurrency: 2, share: 1, requestsPerSecond: 100_000 } }),
      {
        timeouts: { attempts: 2, backoffMs: 60_000, maxBackoffMs: 60_000 },
      },
    );
    const order: string[] = [];
    const slow = [1, 2].map(() => client.call(platform.agents.show, { id: 'slow' }).catch(() => order.push('slow')));
    const others = Array.from({ length: 8 }, (_, index) => client.call(platform.agents.show, { id: `a${index}` }));
    await Promise.all(others);
    order.push('others');
    expect(most).toBe(2);
    expect(order).toEqual(['others']);
    abort.abort();
    await Promise.all(slow);
    await client.close();
  });

  it('a signal aborts waiting requests and those in progress', async () => {
    const server = await serve(() => {});
    const { client, abort } = createTestClient(
      createTarget('platform', server.origin, { limits: { concurrency: 1, share: 1 } }),
    );
    const calls = [1, 2, 3].map((id) => client.call(platform.agents.show, { id: String(id) }));
    const settled = Promise.allSettled(calls);
    while (server.requests.length === 0) await sleep(1);
    abort.abort();
    for (const result of await settled)
      expect(result).toMatchObject({ status: 'rejected', reason: { failure: 'aborted', exit: 3 } });
    expect(server.requests).toHaveLength(1);
  });
});
