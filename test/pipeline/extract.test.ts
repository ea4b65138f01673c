import { basename } from 'node:path';
import { expect, test } from 'vitest';
import type { RunResult } from '../../src/run/run.ts';
import { testProject } from '../helpers/test-project.ts';

const MANY = Array.from({ length: 60 }, (_, index) => `one-${index}`);
const json = (data: unknown) => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ data }),
});

/** Twice the concurrency limit. */
const PROVIDERS = MANY.slice(0, 16);

test('more providers with keys than the concurrency limit are extracted completely', async () => {
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path, method }) => {
      if (!path.startsWith('/v1/keymgmt/kms')) return undefined;
      if (path.endsWith('/kms')) return json({ keys: PROVIDERS });
      return json(
        method === 'LIST' ? { keys: ['a', 'b'] } : { name: 'a-1', purpose: ['sign'], protection: 'hsm', versions: {} },
      );
    },
  });
  await place.pull(['--source', 'key_distributions']);
  expect(await place.rows('select count(*)::int as n from key_distributions')).toEqual([{ n: 2 * PROVIDERS.length }]);
});

test('the first failure ends the source: no more requests are sent, and it is the one reported', async () => {
  let reads = 0;
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path, method }, service) => {
      if (path === '/v1/keymgmt/key' && method === 'LIST')
        return json({ keys: [...MANY, ...MANY.map((name) => `${name}-b`)] });
      if (!path.startsWith('/v1/keymgmt/key/')) return undefined;
      return ++reads === 3 ? service.error(403, 'not this one') : json({ name: basename(path), keys: {} });
    },
  });
  const [pull] = (await place.pull(['--source', 'keys'], 3)).json<RunResult>().pulls;
  expect(pull?.error).toContain('not this one');
  expect(reads).toBeLessThan(MANY.length);
});
