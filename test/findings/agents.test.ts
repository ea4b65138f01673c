import { beforeAll, describe, expect, test } from 'vitest';
import { agent } from '../helpers/agent-row.ts';
import { createFindingsWarehouse, type FindingsWarehouse } from '../helpers/findings-warehouse.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

const atEnd = cleanAtEnd();
const FIRST = '2026-11-18T02:15:00Z';
const NOW = '2026-11-20T02:15:00Z';
const HALF_A_SECOND_BEFORE = '2026-11-20T02:14:59.500Z';

describe('agents', () => {
  let warehouse: FindingsWarehouse;
  const HOURS_24 = '2026-11-19T02:15:00Z';
  const LONGER = '2026-11-19T02:14:59Z';

  beforeAll(async () => {
    warehouse = await createFindingsWarehouse({ cleanup: atEnd });
    await warehouse.pull('2026-11-17T02:15:00Z', 'acme', 'agents', {
      agents: [agent('lost-its-ping', 'idle', '2026-11-17T02:10:00Z')],
    });
    await warehouse.pull(FIRST, 'acme', 'agents', {
      agents: [
        agent('lost-its-ping', 'idle', '2026-11-18T02:10:00Z'),
        agent('lost-a-ping-to-come', 'idle', '2099-01-01T00:00:00Z'),
        agent('old-never-pinged', 'exited', null),
        agent('unreported-status', 'idle', LONGER),
      ],
    });
    await warehouse.pull(FIRST, 'other', 'agents', { agents: [agent('new-never-pinged', 'errored', null)] });
    await warehouse.pull(NOW, 'acme', 'agents', {
      agents: [
        agent('unknown', 'unknown', LONGER),
        agent('errored', 'errored', LONGER),
        agent('exited', 'exited', LONGER),
        agent('edge', 'errored', HOURS_24),
        agent('idle', 'idle', LONGER),
        agent('odd-status', 'paused', LONGER),
        agent('future', 'errored', '2026-11-21T00:00:00Z'),
        agent('far-future', 'errored', '9999-12-31T00:00:00Z'),
        agent('new-never-pinged', 'errored', null),
        agent('old-never-pinged', 'errored', null),
        agent('lost-its-ping', 'unknown', null),
        agent('lost-a-ping-to-come', 'unknown', null),
        agent('unreported-status', null, LONGER),
      ],
    });
    await warehouse.pull(NOW, 'other', 'agents', {
      agents: [agent('edge', 'errored', LONGER), agent('new-never-pinged', 'errored', null)],
    });
    await warehouse.evaluate(NOW);
  });

  test('dead-agent: unknown, errored or exited, and no ping for over deadAgentHours', async () => {
    const rows = await warehouse.findings('dead-agent');
    expect(rows.map(({ target, subject_id }) => `${target} ${subject_id}`)).toEqual([
      'acme errored',
      'acme exited',
      'acme lost-its-ping',
      'acme old-never-pinged',
      'acme unknown',
      'other edge',
      'other new-never-pinged',
    ]);
    expect((await warehouse.seen('dead-agent')).unknown).toEqual([
      'far-future',
      'lost-a-ping-to-come',
      'odd-status',
      'unreported-status',
    ]);
    expect((await warehouse.seen('silent-agent')).unknown).toEqual(['far-future']);
  });

  test('dead-agent: without a current ping, silence counts from the last reported one or from the first pull', async () => {
    const rows = Object.fromEntries((await warehouse.findings('dead-agent')).map((row) => [row.subject_id, row]));
    expect(rows['lost-its-ping']?.detail).toMatchObject({
      silent_since: '2026-11-18T02:10:00.000Z',
      never_pinged: false,
    });
    expect(rows['old-never-pinged']).toMatchObject({
      title:
        'Agent agent "old-never-pinged" of pool apool-1 is errored and has sent no ping since 2026-11-18 02:15 UTC, when it was first seen',
      detail: {
        agent_id: 'old-never-pinged',
        pool_id: 'apool-1',
        status: 'errored',
        last_ping_at: null,
        never_pinged: true,
      },
      group_key: 'pool apool-1',
      severity: 'warning',
      subject_type: 'agent',
    });
  });

  test('silent-agent: the last ping is over agentSilentMinutes old, or there is none', async () => {
    const silent = await createFindingsWarehouse();
    await silent.pull(NOW, 'acme', 'agents', {
      agents: [
        agent('edge', 'idle', '2026-11-20T02:05:00Z'),
        agent('over', 'idle', '2026-11-20T02:04:59Z'),
        agent('gone', 'exited', '2026-11-01T00:00:00Z'),
        agent('never', null, null),
        agent('lively', 'busy', HALF_A_SECOND_BEFORE),
      ],
    });
    await silent.evaluate(NOW);
    expect((await silent.findings('silent-agent')).map(({ subject_id, severity }) => [subject_id, severity])).toEqual([
      ['gone', 'info'],
      ['never', 'info'],
      ['over', 'warning'],
    ]);
  });
});
