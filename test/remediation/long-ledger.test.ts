import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { type ActionOutcome, ledgerFile } from '../../src/act/ledger.ts';
import { toLedgerText } from '../../src/act/ledger-chain.ts';
import { syncLedger } from '../../src/act/ledger-table.ts';
import { withWarehouse } from '../../src/warehouse/session.ts';
import { mailConfig, publishEmptyWarehouse } from '../helpers/mail-warehouse.ts';
import { QUIET } from '../helpers/report-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const ACTIONS = 12_000;

const action = (number: number): ActionOutcome => ({
  event: 'outcome',
  plan_id: 'p-1',
  action_id: `a${number}`,
  playbook: 'trim-anonymous-policy',
  operation: 'scheduler.policies.write',
  target: 'nomad',
  params: { policy_name: 'anonymous' },
  finding_id: 'f-1',
  reason: null,
  approved_by: 'the operator',
  status: 'applied',
  satisfied: true,
  started_at: '2026-10-01T02:15:00.000Z',
  finished_at: '2026-10-01T02:15:01.000Z',
  before: { rules: 'x'.repeat(1000) },
  after: { rules: 'y'.repeat(1000) },
});

test('the actions of years are copied to the table in the memory that a run has', async () => {
  const config = mailConfig(await tempFolder(), { memoryLimit: '400MB' });
  await publishEmptyWarehouse(config);
  await writeFile(
    ledgerFile(config.data),
    toLedgerText(Array.from({ length: ACTIONS }, (_, number) => action(number))),
  );
  const now = new Date('2026-11-20T02:15:00Z');
  const copied = await withWarehouse({ config, purpose: 'test', now, log: QUIET }, async (warehouse) => {
    await syncLedger(warehouse, config, now);
    return warehouse.database.rows('select count(*) as n, count(distinct action_id) as ids from actions');
  });
  expect(copied.map(({ n, ids }) => [Number(n), Number(ids)])).toEqual([[ACTIONS, ACTIONS]]);
});
