import { X509Certificate } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../sandbox/index.ts';
import type { SandboxChange } from '../../sandbox/types.ts';
import { call } from './platform-client.ts';
import { ask, read } from './secrets-client.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const START = new Date('2031-05-06T07:08:09Z');

/** A sandbox whose time is what the test says. */
async function startAt(options: Parameters<typeof startSandbox>[0] = {}) {
  let now = START;
  const sandbox = await startSandbox({ flavor: 'hashicorp', start: START, clock: () => now, ...options });
  onTestFinished(() => sandbox.close());
  return { sandbox, passTo: (time: number) => (now = new Date(START.getTime() + time)) };
}

interface AgentList {
  readonly data: readonly {
    readonly attributes: { readonly status: string; readonly 'last-ping-at': string | null };
  }[];
}

test.each([0, 17 * MINUTE_MS, 9.5 * DAY_MS])(
  'agents that respond have pinged within a minute, after %i ms',
  async (time) => {
    const { sandbox, passTo } = await startAt();
    const now = passTo(time);
    const { pools } = sandbox.services.platform.state;
    const lists = await Promise.all(
      pools.map(async ({ id }) => (await (await call(sandbox, `/agent-pools/${id}/agents`)).json()) as AgentList),
    );
    const alive = lists.flatMap(({ data }) => data).filter(({ attributes }) => /idle|busy/u.test(attributes.status));
    expect(alive.length).toBeGreaterThan(20);
    for (const { attributes } of alive) {
      const age = now.getTime() - Date.parse(attributes['last-ping-at'] ?? '');
      expect(age >= 0 && age <= MINUTE_MS, `${age} ms`).toBe(true);
    }
  },
);

test.each([0, 2.97 * DAY_MS, 40 * DAY_MS])('every certificate is valid, after %i ms', async (time) => {
  const { sandbox, passTo } = await startAt();
  const now = passTo(time);
  for (const service of ['web', 'checkout-api', 'payments', 'identity']) {
    const leaf = await read<{ CertPEM: string }>(sandbox, 'mesh', `GET /agent/connect/ca/leaf/${service}`);
    const { validFrom, validTo } = new X509Certificate(leaf.CertPEM);
    expect([Date.parse(validFrom) <= now.getTime(), Date.parse(validTo) > now.getTime()], service).toEqual([
      true,
      true,
    ]);
  }
});

test('days pass with the clock as they do with ticks', async () => {
  const { sandbox, passTo } = await startAt();
  const ticked = await startSandbox({ flavor: 'hashicorp', start: START });
  onTestFinished(() => ticked.close());
  for (let day = 0; day < 5; day++) ticked.tick();
  passTo(5.3 * DAY_MS);
  await call(sandbox, '/ping');
  expect(sandbox.day).toBe(5);
  const versions = (each: typeof sandbox) =>
    each.services.platform.state.workspaces.map(({ toolVersion }) => toolVersion);
  expect(versions(sandbox)).toEqual(versions(ticked));
});

test('a recorded change, repeated on its day, leads to the same state', async () => {
  const changes: SandboxChange[] = [];
  const { sandbox, passTo } = await startAt({ onChange: (change) => changes.push(change) });
  passTo(2.5 * DAY_MS);
  expect((await ask(sandbox, 'secrets', 'POST /keymgmt/key/payments-signing/rotate')).status).toBeLessThan(300);
  expect((await ask(sandbox, 'secrets', 'POST /keymgmt/key/absent/rotate')).status).toBeGreaterThanOrEqual(400);
  expect(changes).toHaveLength(1);
  expect(JSON.stringify(changes)).not.toContain(sandbox.tokens.secrets.write);
  const again = await startSandbox({ flavor: 'hashicorp', start: START });
  onTestFinished(() => again.close());
  for (const change of changes) again.repeat(change);
  expect(again.day).toBe(2);
  const versions = (each: typeof sandbox) => each.services.secrets.state.keys.get('payments-signing')!.versions;
  expect(versions(again)).toEqual(versions(sandbox));
});
