import { existsSync, readdirSync, readlinkSync, renameSync } from 'node:fs';
import { copyFile, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import type { LedgerEntry, LedgerRow } from '../../src/act/ledger.ts';
import { scanLedger, toLedgerText } from '../../src/act/ledger-chain.ts';
import { keepPlan } from '../../src/act/plan-store.ts';
import { acquireLock } from '../../src/warehouse/lock.ts';
import { appendActions } from '../helpers/old-ledger.ts';
import { tempFolder } from '../helpers/temp.ts';
import { prepareProject, type TestProject, testProject } from '../helpers/test-project.ts';
import { buildTestPlan } from '../remediation/test-plans.ts';

const LATE = ['--now', '2027-06-20T03:00:00Z'];
const PLANS = {
  applied: 'p-20260901T000000Z-00000001',
  failed: 'p-20260901T000000Z-00000002',
  open: 'p-20260901T000000Z-00000003',
  unconfirmed: 'p-20260901T000000Z-00000004',
  undoable: 'p-20260901T000000Z-00000005',
  accepting: 'p-20260901T000000Z-00000006',
  accepted: 'p-20260901T000000Z-00000007',
  recent: 'p-20270601T000000Z-00000008',
};
const KEPT = [PLANS.open, PLANS.unconfirmed, PLANS.undoable, PLANS.accepting, PLANS.recent];

/** Four nights of a source, the last one long after the others. */
const prepareNights = () =>
  prepareProject('nights-of-roots', { workspaces: 10 }, async ({ pull }) => {
    for (const night of ['2026-10-01', '2026-10-02', '2026-10-03', '2027-06-19'])
      await pull(['--source', 'ca_roots', '--now', `${night}T02:15:00Z`]);
  });

let project: TestProject;
let file: string;

beforeEach(async () => {
  project = await testProject({ workspaces: 10, from: await prepareNights() });
  const data = join(project.folder, 'data');
  file = join(data, 'ledger.ndjson');
  await project.configure((config) => {
    config.historyDays = 35;
    config.planDays = 900;
  });
  await keepPlan(
    { data },
    buildTestPlan((plan) => {
      plan.plan_id = PLANS.undoable;
    }),
  );
  const accepts = (until: string) => ({ finding_ids: ['f-1'], until });
  const day = '2026-09-01';
  await appendActions(data, [
    { plan: PLANS.applied, day, status: 'applied' },
    { plan: PLANS.failed, day, status: 'failed' },
    { plan: PLANS.open, day },
    { plan: PLANS.unconfirmed, day, status: 'unconfirmed' },
    { plan: PLANS.undoable, day, status: 'applied' },
    { plan: PLANS.accepting, day, status: 'applied', accepts: accepts('2027-07-01T00:00:00.000Z') },
    { plan: PLANS.accepted, day, status: 'applied', accepts: accepts('2026-10-01T00:00:00.000Z') },
    { plan: PLANS.recent, day: '2027-06-01', status: 'applied' },
  ]);
});

const run = (...words: string[]) => project.tidemark([...words, ...LATE]);
const plansOf = async () =>
  (await run('playbook', 'ledger', '--json')).json<LedgerRow[]>().map(({ plan_id }) => plan_id);
const ledgerRemoval = async (...words: string[]) => {
  const { removals } = (await run('prune', '--json', ...words)).json<{ removals: { what: string; count: number }[] }>();
  return removals.find(({ what }) => what === 'ledger');
};

test('old actions go; what an undo, an acceptance or a settle needs stays, as it was', async () => {
  const before = await readFile(file, 'utf8');
  const shown = await ledgerRemoval();
  expect(shown).toMatchObject({ count: 3 });
  expect(await readFile(file, 'utf8')).toBe(before);
  expect(await ledgerRemoval('--yes')).toEqual(shown);
  const [first, ...lines] = (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(first).toMatchObject({ event: 'pruned', actions: 3, lines: 15, at: '2027-06-20T03:00:00.000Z' });
  const content = (line: object) => ({ ...line, previous: '' });
  const earlier = before
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(content)).toEqual(earlier.filter(({ plan_id }) => KEPT.includes(plan_id)).map(content));
  expect(await plansOf()).toEqual(KEPT);
  expect(await project.rows('select plan_id from actions order by plan_id')).toEqual(
    KEPT.map((plan_id) => ({ plan_id })),
  );
  expect(await run('playbook', 'ledger', 'verify')).toMatchObject({ exit: 0 });
  expect(await ledgerRemoval('--yes')).toBeUndefined();
});

test('without historyDays, and while a plan is applied, all of it stays', async () => {
  const lock = await acquireLock(join(project.folder, 'data', 'apply.lock'), 'a plan');
  const { exit, stderr } = await run('prune', '--yes');
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: expect.stringContaining('the ledger stays as it is') });
  await lock.release();
  await project.configure((config) => {
    delete config.historyDays;
  });
  expect(await ledgerRemoval('--yes')).toBeUndefined();
  expect(await plansOf()).toHaveLength(8);
});

test('a ledger that is refused is not pruned, and a run says so', async () => {
  await project.pull(['--source', 'ca_roots', '--now', '2027-06-20T02:15:00Z']);
  const text = (await readFile(file, 'utf8')).replace('the operator', 'the intruder');
  await writeFile(file, text);
  expect(await run('prune', '--yes')).toMatchObject({ exit: 4 });
  await project.pull(['--source', 'ca_roots', '--now', '2027-06-21T02:15:00Z']);
  expect(await readFile(file, 'utf8')).toBe(text);
});

test('a removal that ended between warehouse and file leaves a sound ledger, that goes on and is pruned again', async () => {
  const before = await readFile(file, 'utf8');
  await ledgerRemoval('--yes');
  await writeFile(file, before); // as if the process had been killed before it replaced the file
  await project.tidemark(['pull', '--source', 'ca_roots', '--now', '2027-06-21T02:15:00Z']);
  expect(await plansOf()).toEqual(KEPT);
});

test('the earlier ledger is refused once a run has seen that the file was replaced', async () => {
  const before = await readFile(file, 'utf8');
  await ledgerRemoval('--yes');
  await writeFile(file, before);
  expect(await run('playbook', 'ledger', 'verify')).toMatchObject({ exit: 0 });
  await run('playbook', 'ledger', '--accept');
  await ledgerRemoval('--yes');
  await run('playbook', 'ledger', '--settle'); // copies the ledger to the table
  await writeFile(file, before);
  expect(await run('playbook', 'ledger', 'verify')).toMatchObject({ exit: 4 });
});

test('a backup of a pruned ledger is restored, and the table restores the ledger', async () => {
  await ledgerRemoval('--yes');
  const folder = join(await tempFolder(), 'backup');
  expect(await run('backup', folder)).toMatchObject({ exit: 0 });
  const data = join(project.folder, 'data');
  await rename(data, `${data}.lost`);
  expect(await run('backup', 'restore', folder)).toMatchObject({ exit: 0 });
  expect(await run('playbook', 'ledger', 'verify')).toMatchObject({ exit: 0 });
  expect(await plansOf()).toEqual(KEPT);
  await rename(file, `${file}.lost`);
  expect(await run('playbook', 'ledger', '--restore')).toMatchObject({ exit: 0 });
  expect(await plansOf()).toEqual(KEPT);
});

const DESCRIPTORS = '/proc/self/fd';
const showsDescriptors = existsSync(DESCRIPTORS);
if (!showsDescriptors)
  console.warn(`skipped: without ${DESCRIPTORS}, a test cannot tell when a reader has the warehouse open`);

/** Whether this process has a file open. */
function isOpen(path: string): boolean {
  const descriptors = readdirSync(DESCRIPTORS).map((name) => join(DESCRIPTORS, name));
  return descriptors.some((name) => existsSync(name) && readlinkSync(name) === path);
}

test.skipIf(!showsDescriptors)(
  'a reader beside a prune, which replaces warehouse and file between its two reads, finds nothing wrong',
  async () => {
    await run('playbook', 'ledger', '--settle'); // the warehouse has seen the ledger
    const published = join(project.folder, 'data', 'warehouse.duckdb');
    const later = join(await tempFolder(), 'warehouse.duckdb');
    const earlier = `${later}.earlier`;
    const unpruned = await readFile(file, 'utf8');
    await copyFile(published, earlier);
    await ledgerRemoval('--yes');
    await copyFile(published, later);
    await rename(file, `${file}.pruned`);
    await rename(earlier, published);
    await writeFile(file, unpruned);
    let isReading = true;
    const reading = run('playbook', 'ledger', 'verify').finally(() => {
      isReading = false;
    });
    while (isReading && !isOpen(published)) await nextTurn();
    expect(isReading).toBe(true); // it has the earlier warehouse open, and has not read the file
    renameSync(later, published);
    renameSync(`${file}.pruned`, file);
    const { exit, stdout } = await reading;
    expect(exit, stdout).toBe(0);
  },
);

test('a file that only says that it was pruned is refused, also beside a prune that was killed', async () => {
  const forge = async () => {
    const { head, entries } = scanLedger(await readFile(file, 'utf8'));
    const [first] = [...entries.values()];
    const pruned = { event: 'pruned', at: '2027-06-20T03:00:00.000Z', actions: 7, ...head } as const;
    return toLedgerText([pruned, first as LedgerEntry]);
  };
  await run('playbook', 'ledger', '--settle'); // the warehouse has seen the ledger
  const before = await readFile(file, 'utf8');
  const forged = await forge();
  await writeFile(file, forged);
  expect(await run('playbook', 'ledger', 'verify')).toMatchObject({ exit: 4 });
  await writeFile(file, before);
  await ledgerRemoval('--yes');
  for (const text of [forged, await forge(), '', before.slice(0, before.indexOf('\n') + 1)]) {
    await writeFile(file, text);
    expect(await run('playbook', 'ledger', 'verify'), text).toMatchObject({ exit: 4 });
  }
  expect(await run('playbook', 'ledger', '--restore')).toMatchObject({ exit: 0 });
  expect(await plansOf()).toEqual(KEPT);
});
