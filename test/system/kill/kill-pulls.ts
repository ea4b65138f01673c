import { join } from 'node:path';
import { expect } from 'vitest';
import { buildCommand, startCommand } from '../../helpers/built-command.ts';
import { testProject } from '../../helpers/test-project.ts';
import { findInconsistencies, hashFile, readContents } from '../../helpers/warehouse-checks.ts';

/** After this many kills one run completes, and the sandbox advances a day. */
const KILLS_PER_DAY = 10;
const PULL = ['pull', '--target', 'acme'];

/**
 * Kills pulls with SIGKILL, one in each of `kills` equal parts of a run's duration, at a random time in it. After each kill the
 * published warehouse is the old or the new one, and a run completes; in the end it equals one that was never killed.
 */
export async function killPulls(kills: number): Promise<void> {
  const command = await buildCommand();
  const project = await testProject({ workspaces: 30 });
  const published = join(project.folder, 'data', 'warehouse.duckdb');
  const startPull = () => startCommand(command, [...PULL, '--now', project.sandbox.now.toISOString()], project.folder);
  const complete = await startPull().ended;
  expect(complete.exit, complete.stderr).toBe(0);

  let unpublished = 0;
  for (const [index, part] of shuffle(kills).entries()) {
    if (index % KILLS_PER_DAY === 0) project.sandbox.tick();
    const before = await hashFile(published);
    const killed = startPull();
    const afterMs = ((part + Math.random()) / kills) * complete.afterMs;
    const timer = setTimeout(() => killed.process.kill('SIGKILL'), afterMs);
    const { stderr } = await killed.ended;
    clearTimeout(timer);
    const details = `kill ${index + 1}, after ${afterMs.toFixed(0)} of ${complete.afterMs.toFixed(0)} ms:\n${stderr}`;

    if ((await hashFile(published)) === before) unpublished++;
    else expect(await findInconsistencies(published), details).toEqual([]);
    if ((index + 1) % Math.min(KILLS_PER_DAY, kills) > 0) continue;
    const next = await project.tidemark(PULL);
    expect(next.exit, `${details}${next.stderr}`).toBe(0);
    expect(await findInconsistencies(published), details).toEqual([]);
  }
  expect(unpublished, 'some kills come before the publication').toBeGreaterThan(0);

  const expected = await testProject({ workspaces: 30 });
  while (expected.sandbox.day < project.sandbox.day) expected.sandbox.tick();
  await expected.pull(PULL.slice(1));
  expect(await readContents(published)).toEqual(await readContents(join(expected.folder, 'data', 'warehouse.duckdb')));
}

/** The numbers below `count` in random order. */
function shuffle(count: number): readonly number[] {
  const keyed = Array.from({ length: count }, (_, value) => ({ value, key: Math.random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ value }) => value);
}
