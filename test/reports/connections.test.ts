import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { allInOrder } from '../../src/core/all-in-order.ts';
import { interrupts } from '../../src/core/interrupts.ts';
import { shareConnections } from '../../src/tell/reports/connections.ts';
import { createReportWarehouse, workspace } from '../helpers/report-warehouse.ts';
import { until } from '../helpers/until.ts';

const NIGHTS = ['2026-11-01T02:15:00Z', '2026-11-02T02:15:00Z', '2026-11-03T02:15:00Z'] as const;
const [FIRST, SECOND, THIRD] = NIGHTS;
const ENDLESS = 'select sum(hash(range)) from range(9223372036854775807)';

test('a statement does not wait for another, and each connection knows the macro of versions', async () => {
  const { database, files } = await createReportWarehouse();
  const { rows } = await shareConnections(database, files);
  const ended: string[] = [];
  const long = rows(ENDLESS).catch(() => ended.push('long'));
  const keys = ['1.2.3', '1.2.3', 'none'].map(async (version) => {
    const [row] = await rows('select semver_key($version) as key', { version });
    ended.push(version);
    return row?.key;
  });
  const [first, second, none] = await Promise.all(keys);
  await until(() => {
    for (const interrupt of interrupts) interrupt(); // one before the statement has begun is lost
    expect(ended).toContain('long');
  });
  await long;
  expect([first === second, none]).toEqual([true, null]);
  expect(ended).toEqual(['1.2.3', '1.2.3', 'none', 'long']);
});

test('the state of the sources is that of the time of each statement', async () => {
  const { database, files, pull } = await createReportWarehouse();
  for (const [index, night] of NIGHTS.entries()) {
    await pull(night, { workspaces: index === 1 ? 'failed' : [workspace(`w${index}`)] });
  }
  const { rows } = await shareConnections(database, files);
  const expected = new Map([
    [FIRST, { status: 'complete', as_of: FIRST, before: null }],
    [SECOND, { status: 'failed', as_of: FIRST, before: null }],
    [THIRD, { status: 'complete', as_of: THIRD, before: 'w0' }],
  ]);
  for (const [night, row] of expected) {
    const found = await rows(
      `select state.status, state.as_of, (select string_agg(workspace_name, ',') from workspaces_before($night)) as before
       from source_state_at($night) as state`,
      { night },
    );
    expect(found).toEqual([row]);
  }
});

test('a statement that does not end is stopped, and its connection goes on', async () => {
  const { database, files } = await createReportWarehouse();
  const shared = await shareConnections(database, files);
  for (const { rows } of [shared, database]) {
    await expect(rows(ENDLESS, {}, 100)).rejects.toThrow('it was stopped after 0.1 s');
    expect(await rows('select 1 as n', {}, 100_000)).toEqual([{ n: 1 }]);
  }
});

test('rows that are not taken to the end hold no transaction, and their statement is stopped as well', async () => {
  const { database, files } = await createReportWarehouse();
  const { each } = await shareConnections(database, files);
  const refuse = async () => {
    throw new Error('the disk is full');
  };
  await database.run('create table written as select range as n from range(1_000_000)');
  await expect(each('from written', {}, 100_000, refuse)).rejects.toThrow('the disk is full');
  await database.run('update written set n = 0');
  await database.run('checkpoint');
  await expect(each(ENDLESS, {}, 100, refuse)).rejects.toThrow('it was stopped after 0.1 s');
  const takeSlowly = () => setTimeout(200);
  await expect(each('from written', {}, 100, takeSlowly)).rejects.toThrow('it was stopped after 0.1 s');
});

test('a statement that fails for another reason has its own error', async () => {
  const { database, files } = await createReportWarehouse();
  const { rows } = await shareConnections(database, files);
  await expect(rows('select nothing_known from source_state_at($night)', { night: FIRST })).rejects.toThrow(
    'nothing_known',
  );
});

test('the error is that of the first in order, when none is under way any more', async () => {
  const ended: string[] = [];
  const work = async (name: string, turns: number) => {
    for (let turn = 0; turn < turns; turn++) await undefined;
    ended.push(name);
    throw new Error(name);
  };
  await expect(allInOrder([work('slow', 50), work('fast', 1), Promise.resolve('ok')])).rejects.toThrow('slow');
  expect(ended).toEqual(['fast', 'slow']);
  expect(await allInOrder([Promise.resolve(1), Promise.resolve(2)])).toEqual([1, 2]);
});
