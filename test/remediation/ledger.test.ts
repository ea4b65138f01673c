import { appendFile, readdir, readFile, readlink, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  type ActionIntent,
  type ActionOutcome,
  type LedgerEntry,
  ledgerFile,
  toKey,
  toLedgerRow,
} from '../../src/act/ledger.ts';
import { NOTHING_SEEN } from '../../src/act/ledger-chain.ts';
import { assertSound, inspectLedger, type Ledger, openLedgerFile } from '../../src/act/ledger-file.ts';
import { acquireLock, type Lock } from '../../src/warehouse/lock.ts';
import { tempFolder } from '../helpers/temp.ts';

const locks = new Map<string, Lock>();

/** Opens a ledger under a lock that is held until the end of the test. */
async function openLedger(data: string): Promise<Ledger> {
  const lock = locks.get(data) ?? (await acquireLock(join(data, 'apply.lock'), 'a test'));
  if (!locks.has(data)) onTestFinished(() => lock.release());
  locks.set(data, lock);
  return openLedgerFile(data, lock);
}

async function readLedger(data: string): Promise<readonly LedgerEntry[]> {
  const scan = assertSound(data, await inspectLedger(data, NOTHING_SEEN));
  return [...scan.entries.values()];
}

const intent = (action_id: string): ActionIntent => ({
  event: 'intent',
  plan_id: 'p-1',
  action_id,
  playbook: 'rotate-old-keys',
  operation: 'secrets.keys.rotate',
  target: 'vault',
  params: { name: 'a\nkey' },
  finding_id: 'f-1',
  reason: null,
  approved_by: 'the operator',
  started_at: '2026-10-01T02:15:00.000Z',
  before: { latest_version: 1 },
  after: null,
});
const outcome = (action_id: string): ActionOutcome => ({
  ...intent(action_id),
  event: 'outcome',
  status: 'applied',
  satisfied: true,
  finished_at: '2026-10-01T02:15:01.000Z',
  after: { latest_version: 2 },
});

test('the latest record of an action counts', async () => {
  const data = await tempFolder();
  const ledger = await openLedger(data);
  await ledger.record(intent('a1'));
  await ledger.record(intent('a2'));
  await ledger.record(outcome('a1'));
  expect(ledger.entries.get(toKey({ plan_id: 'p-1', action_id: 'a1' }))?.event).toBe('outcome');
  expect(ledger.entries.get(toKey({ plan_id: 'p-1', action_id: 'a2' }))?.event).toBe('intent');
  expect(ledger.entries.get(toKey({ plan_id: 'p-2', action_id: 'a1' }))).toBeUndefined();
  await ledger.close();
  expect((await readLedger(data)).map(toLedgerRow)).toMatchObject([
    { action_id: 'a1', status: 'applied', before: { latest_version: 1 }, after: { latest_version: 2 } },
    { action_id: 'a2', status: 'unconfirmed', finished_at: null },
  ]);
});

test('earlier lines are never changed', async () => {
  const data = await tempFolder();
  for (const id of ['a1', 'a2', 'a3']) {
    const before = await readFile(ledgerFile(data), 'utf8').catch(() => '');
    const ledger = await openLedger(data);
    await ledger.record(intent(id));
    await ledger.close();
    expect((await readFile(ledgerFile(data), 'utf8')).startsWith(before)).toBe(true);
  }
});

test('a truncated last line is skipped, and lines after it are read', async () => {
  const data = await tempFolder();
  const first = await openLedger(data);
  await first.record(intent('a1'));
  await first.close();
  const whole = await readFile(ledgerFile(data), 'utf8');
  const line = `${JSON.stringify(outcome('a1'))}\n`;
  for (let cut = 1; cut < line.length; cut += 7) {
    await writeFile(ledgerFile(data), whole + line.slice(0, cut));
    expect((await readLedger(data))[0]?.event, `cut at ${cut}`).toBe('intent');
    const again = await openLedger(data);
    expect(again.entries.get(toKey({ plan_id: 'p-1', action_id: 'a1' }))?.event).toBe('intent');
    await again.record(intent('a2'));
    await again.close();
    expect((await readLedger(data)).map(({ action_id, event }) => [action_id, event])).toEqual([
      ['a1', 'intent'],
      ['a2', 'intent'],
    ]);
  }
});

test('a damaged line anywhere else is refused: it may record an action', async () => {
  const data = await tempFolder();
  const ledger = await openLedger(data);
  await ledger.record(intent('a1'));
  await ledger.record(outcome('a1'));
  await ledger.close();
  const text = await readFile(ledgerFile(data), 'utf8');
  await writeFile(ledgerFile(data), text.replace('"applied"', '"approved"'));
  await expect(readLedger(data)).rejects.toMatchObject({ code: 'DATA', message: expect.stringContaining(':2 ') });
  await truncate(ledgerFile(data), 20);
  await appendFile(ledgerFile(data), `\n${text}`);
  await expect(openLedger(data)).rejects.toMatchObject({ code: 'DATA', message: expect.stringContaining(':1 ') });
});

test('a folder without a ledger has no actions', async () => {
  expect(await readLedger(await tempFolder())).toEqual([]);
});

test('a ledger without a chain is read, continued, and covered by the first digest', async () => {
  const data = await tempFolder();
  const lines = [intent('a1'), outcome('a1')].map((line) => JSON.stringify(line));
  const unchained = `${lines.join('\n')}\n{"event":"int\n{"event":"truncated"}\n`;
  await writeFile(ledgerFile(data), unchained);
  expect(await readLedger(data)).toEqual([outcome('a1')]);
  const ledger = await openLedger(data);
  await ledger.record(intent('a2'));
  await ledger.close();
  const text = await readFile(ledgerFile(data), 'utf8');
  expect(text.startsWith(unchained)).toBe(true);
  expect((await readLedger(data)).map(({ action_id }) => action_id)).toEqual(['a1', 'a2']);
  await writeFile(ledgerFile(data), text.replace('"applied"', '"failed"'));
  await expect(readLedger(data)).rejects.toMatchObject({
    code: 'DATA',
    message: expect.stringContaining(':5 does not'),
  });
});

test.runIf(process.platform === 'linux')('a ledger whose cut line cannot be marked is not left open', async () => {
  const data = await tempFolder();
  await writeFile(ledgerFile(data), '{"event":"int');
  const assertHeld = () => {
    throw new Error('lost');
  };
  await expect(openLedgerFile(data, { assertHeld, assertUnpaused: assertHeld })).rejects.toThrow('lost');
  const open = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => 'closed'));
  expect(await Promise.all(open)).not.toContain(ledgerFile(data));
});

test('a line is written only while the lock is held, and an action begins only without a pause', async () => {
  const data = await tempFolder();
  const file = join(data, 'apply.lock');
  const lock = await acquireLock(file, 'a test', undefined, -1);
  const ledger = await openLedgerFile(data, lock);
  await expect(ledger.record(intent('a1'))).rejects.toThrow(/was stopped for/u);
  await ledger.record(outcome('a1'));
  const before = await readFile(ledgerFile(data), 'utf8');
  await rm(file);
  await expect(ledger.record(outcome('a2'))).rejects.toMatchObject({ code: 'LOCKED' });
  expect(await readFile(ledgerFile(data), 'utf8')).toBe(before);
  await ledger.close();
  await lock.release();
});
