import { expect, test } from 'vitest';
import type { RunResult } from '../../src/run/run.ts';
import { testProject } from '../helpers/test-project.ts';

const json = (value: unknown) => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

/** A page takes this long in the tests of times, which need no hundreds of pages. */
const SLOW = { latencyMs: 50 };

/** A project whose list of agent pools has a new page after each page. */
async function endlessPools(
  limits: Record<string, number>,
  top: Record<string, number> = {},
  start: { readonly latencyMs?: number } = {},
) {
  let page = 0;
  const project = await testProject({
    workspaces: 2,
    ...start,
    faultHook: ({ path }) => {
      if (!path.endsWith('/agent-pools')) return undefined;
      page++;
      const data = [1, 2, 3].map((number) => ({ id: `apool-${page}-${number}`, type: 'agent-pools', attributes: {} }));
      return json({ data, meta: { pagination: { 'current-page': page, 'next-page': page + 1 } } });
    },
  });
  await project.configure((config) => {
    Object.assign(config, top);
    for (const target of config.targets) Object.assign(target, { limits });
  });
  const startedMs = performance.now();
  const [pull] = (await project.pull(['--source', 'agent_pools'], 3)).json<RunResult>().pulls;
  return { pages: page, seconds: (performance.now() - startedMs) / 1000, error: pull?.error ?? '' };
}

test.each([
  [{ maxPages: 12 }, 'has more than 12 pages (limits.maxPages)', 13],
  [{ maxItems: 20 }, 'has more than 20 items (limits.maxItems)', 7],
  [{ maxBytes: 2000 }, 'has more than 2000 bytes (limits.maxBytes)', 20],
])('a list whose every page is new ends at its bound %j', async (limits, message, pages) => {
  const { error, pages: asked } = await endlessPools(limits);
  expect(error).toContain(message);
  expect(asked).toBeLessThanOrEqual(pages);
});

const MEBIBYTE = 1024 * 1024;

test.each<[string, RegExp, (page: number) => ReturnType<typeof json>]>([
  [
    'agent_pools',
    /\/agent-pools$/u,
    (page) => {
      const data = [{ id: `apool-${page}`, type: 'agent-pools', attributes: { name: 'x'.repeat(4 * MEBIBYTE) } }];
      return json({ data, meta: { pagination: { 'current-page': page, 'next-page': page + 1 } } });
    },
  ],
  [
    'acl_policies',
    /\/acl\/policies$/u,
    (page) => {
      const { headers, ...answer } = json([{ Name: `p-${page}`, Description: 'x'.repeat(4 * MEBIBYTE) }]);
      return { ...answer, headers: { ...headers, 'x-nomad-nexttoken': String(page) } };
    },
  ],
])('%s is kept in memory, and ends at the size of one response', async (source, path, answer) => {
  let page = 0;
  const project = await testProject({
    workspaces: 2,
    faultHook: (asked) => (path.test(asked.path) ? answer(++page) : undefined),
  });
  const [pull] = (await project.pull(['--source', source], 3)).json<RunResult>().pulls;
  expect(pull?.error).toContain('too-large: its pages are larger than 64 MiB together');
  expect(page).toBeLessThan(32);
});

test('a source that takes too long ends at its time', async () => {
  const { error, seconds } = await endlessPools({ maxSeconds: 1 }, {}, SLOW);
  expect(error).toContain('agent_pools takes longer than 1.0 s (limits.maxSeconds)');
  expect(seconds).toBeLessThan(300); // its pages take more than an hour
});

test('a run that takes too long ends at its time, and is not taken for an interrupted one', async () => {
  const { error, seconds } = await endlessPools({}, { maxRunTime: 1 }, SLOW);
  expect(error).toContain('the run takes longer than 1.0 s (maxRunTime)');
  expect(seconds).toBeLessThan(300); // its pages take more than an hour
});
