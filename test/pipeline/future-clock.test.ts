import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Check } from '../../src/run/doctor/checks.ts';
import { testProject } from '../helpers/test-project.ts';

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
