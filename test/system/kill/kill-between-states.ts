import { readFile, writeFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { ledgerFile } from '../../../src/act/ledger.ts';
import type { ApplyHarness } from '../../remediation/apply-harness.ts';

/**
 * Leaves the ledger and the service as a kill between any two states of an apply leaves them, and applies again: each action once.
 * @param isComplete every state with a ledger that ends with a whole line, and with one that ends within a line
 */
export async function killBetweenStates(harness: ApplyHarness, isComplete: boolean): Promise<void> {
  const data = `${harness.place.folder}/data`;
  const plan = await harness.useApprovedPlan();
  await harness.apply();
  const text = await readFile(ledgerFile(data), 'utf8');
  const lines = text.split('\n').slice(0, -1);
  const events = lines.map((line) => JSON.parse(line) as { event: string; action_id: string });
  expect(events.map(({ event }) => event)).toEqual(['intent', 'outcome', 'intent', 'outcome', 'intent', 'outcome']);
  const findId = (action: string) => String(plan.actions.find(({ action_id }) => action_id === action)?.params.id);

  for (let kept = 0; kept <= lines.length; kept++) {
    const open = events[kept - 1]?.event === 'intent' ? events[kept - 1]?.action_id : undefined;
    const concluded = events.slice(0, kept).filter(({ event }) => event === 'outcome');
    for (const sent of open === undefined ? [false] : [false, true]) {
      // Not all: each state has a ledger that ends with a whole line, or with a part of one, in turn.
      for (const isTruncated of isComplete ? [false, true] : [(kept + Number(sent)) % 2 === 1]) {
        const next = isTruncated ? (lines[kept] ?? '').slice(0, 40) : '';
        await writeFile(
          ledgerFile(data),
          lines
            .slice(0, kept)
            .map((line) => `${line}\n`)
            .join('') + next,
        );
        const gone = new Set(concluded.map(({ action_id }) => findId(action_id)));
        if (sent && open !== undefined) gone.add(findId(open));
        harness.reset((agents) => agents.filter(({ id }) => !gone.has(id)));

        const applied = await harness.apply();
        const place = `${kept} lines kept${isTruncated ? ' and a truncated one' : ''}, the last ${sent ? 'sent' : 'not sent'}`;
        expect(
          applied.rows.map(({ status }) => status),
          place,
        ).toEqual(['applied', 'applied', 'applied']);
        expect(harness.writes(), place).toHaveLength(3 - gone.size);
        const expected = new Set(plan.actions.map(({ params }) => params.id));
        expect(
          harness.agents().filter((id) => expected.has(id)),
          place,
        ).toEqual([]);
        if (sent) {
          const row = applied.rows.find(({ action_id }) => action_id === open);
          expect(row?.reason).toBe('confirmed late: interrupted; readings show that it was applied: the agent is gone');
        }
      }
    }
  }
}
