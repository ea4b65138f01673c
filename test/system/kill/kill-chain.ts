import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { buildCommand, startCommand } from '../../helpers/built-command.ts';
import {
  copyState,
  listWrites,
  type PlaybookHarness,
  playbookHarness,
  restoreState,
} from '../../helpers/playbook-harness.ts';

/** What is killed: an apply alone, an apply beside a run that copies the ledger, or the restore of a ledger that was cut. */
export const KILLED = ['apply', 'apply beside a run', 'restore'] as const;
export type Killed = (typeof KILLED)[number];

/**
 * Kills commands that write to the ledger, or to what the warehouse keeps of it, with SIGKILL at random times. The ledger is never
 * emptied: after each kill it is sound or, during a restore, restored by the next one, and the next apply continues it.
 */
export async function killChain(killed: readonly Killed[]): Promise<void> {
  const command = await buildCommand();
  const place = await playbookHarness({ playbook: 'reap-dead-agents' });
  const initial = copyState(place);
  const durations = new Map<string, number>();
  for (const [index, kind] of killed.entries()) {
    const details = `kill ${index}: ${kind}`;
    restoreState(place, initial);
    await place.runJob(); // finds again what was applied
    await expectCopied(place, details);
    const words = kind === 'restore' ? await cutLedger(place) : await planAndApprove(place);
    const run = kind === 'apply beside a run' ? start(place, command, ['run', 'playbook']) : undefined;
    await killAtRandom(place, command, words, durations);
    await run?.ended;
    if (kind === 'restore') await restoreAgain(place, details);
    await expectSound(place, details);
    if (kind !== 'restore') await completePlan(place, details);
    await expectSound(place, details);
  }
}

function start(place: PlaybookHarness, command: string, words: readonly string[]) {
  return startCommand(command, [...words, '--now', place.sandbox.now.toISOString()], place.folder);
}

async function planAndApprove(place: PlaybookHarness): Promise<readonly string[]> {
  const { actions } = await place.plan(['--max-percent', '100']);
  expect(actions).toHaveLength(3);
  await place.approve();
  place.sandbox.log.length = 0;
  return ['playbook', 'apply', place.planFile];
}

async function cutLedger(place: PlaybookHarness): Promise<readonly string[]> {
  const file = join(place.folder, 'data', 'ledger.ndjson');
  const text = await readFile(file, 'utf8').catch(() => '');
  if (text === '') {
    await planAndApprove(place);
    await place.apply();
    return cutLedger(place);
  }
  await writeFile(file, text.slice(0, Math.floor(Math.random() * (text.length - 1))));
  return ['playbook', 'ledger', '--restore'];
}

async function killAtRandom(
  place: PlaybookHarness,
  command: string,
  words: readonly string[],
  durations: Map<string, number>,
): Promise<void> {
  const kind = words[1] ?? '';
  const { process: child, ended } = start(place, command, words);
  const timer = setTimeout(() => child.kill('SIGKILL'), Math.random() * (durations.get(kind) ?? 2_000));
  const { exit, stderr, afterMs } = await ended;
  clearTimeout(timer);
  if (exit === null) return;
  expect(exit, stderr).toBe(0);
  durations.set(kind, afterMs);
}

/** What the kill left is either restored already, or can be. */
async function restoreAgain(place: PlaybookHarness, details: string): Promise<void> {
  if ((await verify(place)).exit === 0) return;
  const { exit, stderr } = await place.tidemark(['playbook', 'ledger', '--restore']);
  expect(exit, `${details}\n${stderr}`).toBe(0);
}

const verify = ({ tidemark }: PlaybookHarness) => tidemark(['playbook', 'ledger', 'verify', '--json']);

async function expectSound(place: PlaybookHarness, details: string): Promise<void> {
  const { exit, stdout, stderr } = await verify(place);
  expect(exit, `${details}\n${stdout}\n${stderr}`).toBe(0);
}

/** Each action of the plan is applied, and sent at least once. */
async function completePlan(place: PlaybookHarness, details: string): Promise<void> {
  const applied = await place.tidemark(['playbook', 'apply', place.planFile, '--json']);
  expect(applied.exit, `${details}\n${applied.stderr}`).toBe(0);
  const writes = listWrites(place.sandbox.log).map(({ path }) => path);
  expect(new Set(writes).size, details).toBe(applied.json<{ rows: object[] }>().rows.length);
}

/** The table `actions` is as the ledger. */
async function expectCopied(place: PlaybookHarness, details: string): Promise<void> {
  const ledger = await place.ledger();
  const rows = await place.rows('select plan_id, action_id, status from actions order by plan_id, action_id');
  const shown = ledger.map(({ plan_id, action_id, status }) => ({ plan_id, action_id, status }));
  expect(rows, details).toEqual(
    shown.sort((a, b) => `${a.plan_id} ${a.action_id}`.localeCompare(`${b.plan_id} ${b.action_id}`)),
  );
}
