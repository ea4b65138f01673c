import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { loadJob } from '../../src/config/job.ts';
import { DAY_MS } from '../../src/core/clock.ts';
import type { Check } from '../../src/run/doctor/checks.ts';
import { runJob } from '../../src/run/run-job.ts';
import { quietContext } from '../helpers/context.ts';
import { pulledProject, testProject } from '../helpers/test-project.ts';

test('what a clock that was ahead has dated is stale, and every run and doctor say so', async () => {
  const place = await testProject({ workspaces: 5 });
  const ahead = new Date(place.sandbox.now.getTime() + 10 * 86_400_000).toISOString();
  const present = place.sandbox.now.toISOString();
  const at = (now: string, ...words: string[]) => place.tidemark([...words, '--now', now]);
  const selected = ['pull', '--source', 'agents', '--source', 'agent_pools'];
  expect((await at(ahead, ...selected)).stderr).not.toContain('clock');
  const late = await at(present, ...selected);
  expect([late.exit, late.stderr]).toEqual([
    0,
    expect.stringMatching(/^warning: the warehouse is of .*correct the clock/mu),
  ]);
  const { sources } = (await at(present, 'status', '--json')).json<{ sources: { age: string; stale: boolean }[] }>();
  expect(sources.map(({ age, stale }) => [age, stale])).toContainEqual(['in the future', true]);
  const checks = (await at(present, 'doctor', '--json')).json<Check[]>();
  expect(checks.find(({ about, check }) => about === 'warehouse' && check === 'clock')).toMatchObject({ ok: false });
  await at(present, 'report', 'overview', '--out', place.folder);
  expect(await readFile(join(place.folder, 'overview.txt'), 'utf8')).toMatch(/^STALE: acme: (?:\w+, )*agents[,:]/mu);
});

test('a clock that goes ahead during a run removes nothing', async () => {
  let aheadMs = 0;
  const place = await pulledProject({
    faultHook: () => {
      aheadMs = 700 * DAY_MS;
      return undefined;
    },
  });
  await mkdir(join(place.folder, 'jobs'));
  await writeFile(join(place.folder, 'jobs', 'night.yaml'), 'pull: [agents, agent_pools]\nreports: [agent-health]\n');
  const kept = async () => (await readdir(join(place.folder, 'data', 'landing'))).length;
  const archived = join(place.folder, 'out', 'archive', '2026-09-30');
  await mkdir(archived, { recursive: true });
  const before = await kept();
  const start = place.sandbox.now.getTime() + DAY_MS;
  const clock = { frozen: false, now: () => new Date(start + aheadMs) };
  const context = quietContext(place.folder, { clock });
  const config = loadConfig(join(place.folder, 'tidemark.yaml'), {}, context.redactor);
  const { status } = await runJob(config, context, await loadJob(config, {}, 'night'));
  expect([status, await kept(), existsSync(archived), aheadMs > 0]).toEqual(['complete', before + 1, true, true]);
});
