import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { evaluateFindings } from '../../src/tell/findings/evaluate.ts';
import { renderReports } from '../../src/tell/reports/index.ts';
import {
  createReportWarehouse,
  type FindingEvent,
  type PulledTables,
  type ReportWarehouse,
  recordFinding,
  workspace,
} from '../helpers/report-warehouse.ts';

const night = (day: number) => `2026-11-0${day}T02:15:00Z`;

/** `14 open = 18 before + 3 new − 7 resolved`: the number and the sum of the right side. */
function readEquation(text: unknown): { readonly number: number; readonly sum: number } {
  const [left = '', right = ''] = String(text).split(' = ');
  const terms = [...right.matchAll(/(^|[+−] )(\d+)/gu)].map(
    ([, sign, digits]) => Number(digits) * (sign === '− ' ? -1 : 1),
  );
  return { number: Number.parseInt(left, 10), sum: terms.reduce((sum, term) => sum + term, 0) };
}

/** Four nights, of which the third is stale: w1 to w6 in every state that the comparison knows. */
async function fourNights(): Promise<ReportWarehouse> {
  const warehouse = await createReportWarehouse();
  const bad = { drifted: true, checks_failed: 1 };
  const unknown = { drifted: null, checks_failed: null };
  const nights: readonly PulledTables[string][] = [
    [workspace('w1', bad), workspace('w2', bad), workspace('w3', bad), workspace('w4'), workspace('w5', unknown)],
    [workspace('w1', bad), workspace('w2'), workspace('w3', unknown), workspace('w4', bad), workspace('w5', bad)],
    'failed',
    [workspace('w2', bad), workspace('w3', bad), workspace('w4'), workspace('w5', bad), workspace('w6', bad)],
  ];
  for (const [index, workspaces] of nights.entries()) await warehouse.pull(night(index + 1), { workspaces });
  await warehouse.pull('2026-11-04T02:15:01Z', { workspaces: [workspace('other', bad)] }, 'second');
  return warehouse;
}

describe('the numbers of a report', () => {
  it.each([
    ['drift', 'drifting', 'is_drifting'],
    ['check-failure', 'failing', 'is_failing'],
  ] as const)(
    'of %s add up in every night, also after a failed pull and with a new target',
    async (report, field, condition) => {
      const warehouse = await fourNights();
      const found: string[] = [];
      for (const at of [night(2), night(3), night(4), '2026-11-04T02:15:01Z']) {
        const { summary } = await warehouse.data(report, at, []);
        if (summary.equation === null) {
          found.push('nothing is known');
          continue;
        }
        const { number, sum } = readEquation(summary.equation);
        const [plain] = await warehouse.database.rows(
          `select count(*) as number from workspace_changes($at, null) where present and ${condition}`,
          { at },
        );
        expect(sum, String(summary.equation)).toBe(number);
        expect(number).toBe(plain?.number);
        expect(summary[field]).toBe(number);
        found.push(String(summary.equation).replace(/^\d+ \w+ = /u, ''));
      }
      expect(found).toEqual([
        '3 before + 2 new + 0 returned − 1 resolved − 0 deleted',
        'nothing is known', // the pull failed
        '4 before + 1 new + 1 returned − 1 resolved − 1 deleted',
        '4 before + 1 in targets pulled for the first time + 1 new + 1 returned − 1 resolved − 1 deleted',
      ]);
      expect((await warehouse.data(report, night(1), [])).summary.equation).toBeNull();
    },
  );

  it('add up for findings that are new, resolved, reopened, accepted, returned or assessed for the first time', async () => {
    const warehouse = await createReportWarehouse();
    for (const day of [1, 2, 3, 4]) {
      await warehouse.pull(night(day), { workspaces: day === 3 ? 'failed' : [workspace('a')] });
    }
    const event = (day: number, state: string, reason: string): FindingEvent => ({ at: night(day), state, reason });
    const add = (id: string, ...events: readonly FindingEvent[]) =>
      recordFinding(warehouse, id, 'drifted-workspace', events);
    await add('stays', event(1, 'open', 'baseline'), event(2, 'open', 'no longer new'));
    await add('resolved', event(1, 'open', 'baseline'), event(2, 'resolved', 'gone'));
    await add('reopened', event(1, 'open', 'baseline'), event(2, 'resolved', 'gone'), event(4, 'new', 'reopened'));
    await add('new', event(2, 'new', 'found'), event(4, 'open', 'no longer new'));
    await add('accepted', event(1, 'open', 'baseline'), event(2, 'accepted', 'accepted'));
    await add('returned', event(1, 'accepted', 'accepted'), event(4, 'open', 'acceptance ended'));
    await add('late', event(4, 'open', 'baseline'));
    const equations: unknown[] = [];
    for (const day of [1, 2, 3, 4]) {
      const data = await warehouse.data('drift', night(day), ['finding_counts', 'open_findings']);
      const [counts] = data.finding_counts as Record<string, unknown>[];
      if (counts?.equation) {
        const { number, sum } = readEquation(counts.equation);
        expect(sum, String(counts.equation)).toBe(number);
        expect(number).toBe(counts.open_findings);
      }
      const rows = data.open_findings as { findings: number }[];
      expect(rows.reduce((sum, { findings }) => sum + findings, 0)).toBe(counts?.open_findings);
      equations.push(counts?.equation);
    }
    expect(equations).toEqual([
      null,
      '2 open = 4 before + 1 new + 0 returned − 2 resolved − 0 deleted − 1 accepted',
      '2 open = 2 before + 0 new + 0 returned − 0 resolved − 0 deleted',
      '5 open = 2 before + 1 assessed for the first time + 0 new + 1 returned + 1 no longer accepted − 0 resolved − 0 deleted',
    ]);
  });
});

describe('the state of a report', () => {
  const found = (severity: string): readonly FindingEvent[] => [
    { at: night(1), state: 'open', reason: 'found', severity },
  ];
  const add = (warehouse: ReportWarehouse, severity: string) =>
    recordFinding(warehouse, severity, 'drifted-workspace', found(severity));
  const stateAt = async (warehouse: ReportWarehouse, at: string, report = 'drift') =>
    (await warehouse.data(report, at, ['state'])).state;

  it('is the worst severity of its open findings', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(night(1), { workspaces: [workspace('a')] });
    await add(warehouse, 'info');
    expect(await stateAt(warehouse, night(1))).toBe('ok');
    await add(warehouse, 'warning');
    expect(await stateAt(warehouse, night(1))).toBe('warning');
    await add(warehouse, 'critical');
    expect(await stateAt(warehouse, night(1))).toBe('critical');
    expect(await stateAt(warehouse, night(1), 'check-failure')).toBe('unknown'); // none of its rules was evaluated
  });

  it.each([
    ['its source is stale', { workspaces: 'failed' }],
    ['no evaluation followed the last pull', { workspaces: [workspace('a')] }],
  ] as const)('is unknown, never ok, where %s', async (_, tables) => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(night(1), { workspaces: [workspace('a')] });
    await add(warehouse, 'info');
    expect(await stateAt(warehouse, night(1))).toBe('ok');
    const headline = async (at: string) => (await warehouse.data('overview', at, [])).summary.headline;
    expect(await headline(night(1))).toMatch(/^No critical finding or warning; /u);
    await warehouse.pull(night(2), tables);
    expect(await stateAt(warehouse, night(2))).toBe('unknown');
    expect(await headline(night(2))).toMatch(
      /^No critical finding or warning is known; .*not evaluated since the last pull$/u,
    );
  });

  it('is unknown where a subject or a rule could not be assessed', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(night(1), { workspaces: [workspace('a', { drifted: null })] });
    await add(warehouse, 'info');
    expect(await stateAt(warehouse, night(1))).toBe('unknown');
    const other = await createReportWarehouse();
    await other.pull(night(1), { workspaces: [workspace('a')] });
    await add(other, 'info');
    await other.database.run(
      "insert into unassessed_rules values ('acme', 'drifted-workspace', 'warning', 'why', $at::timestamptz, null)",
      { at: night(1) },
    );
    expect(await stateAt(other, night(1))).toBe('unknown');
  });
});

describe('the lead of a report', () => {
  it('names what is wrong, what changed, who it is, and the next step', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(night(1), { workspaces: [workspace('old')] });
    await warehouse.pull(night(2), {
      workspaces: [workspace('old'), workspace('a'), workspace('b', { project_name: 'web' }), workspace('fine')],
    });
    const open = (day: number, severity: string): FindingEvent => ({
      at: night(day),
      state: 'new',
      reason: 'found',
      severity,
    });
    const add = (id: string, ...events: readonly FindingEvent[]) =>
      recordFinding(warehouse, id, 'drifted-workspace', events, { severity: 'critical' });
    await add('old', open(1, 'warning'), { ...open(2, 'critical'), reason: 'severity changed' });
    await add('a', open(2, 'warning'));
    await add('b', open(2, 'warning'));
    const { open_findings } = await warehouse.data('drift', night(2), ['open_findings']);
    const step = {
      command: 'tidemark findings --rule drifted-workspace',
      repair: expect.stringContaining('start a run'),
    };
    expect(open_findings).toMatchObject([
      { severity: 'critical', title: 'Title of old', subject_id: 'old', changes: 'got worse', ...step },
      {
        severity: 'warning',
        title: '2 workspaces drift',
        changes: '2 new',
        who: [
          { subject: 'a', change: 'new' },
          { subject: 'b', change: 'new' },
        ],
        ...step,
      },
    ]);
    const data = await warehouse.data('overview', night(2), ['affected', 'findings_trend']);
    expect(data.affected).toMatchObject([
      { name: 'core', kind: 'project', workspaces: '2 of 3', findings: '1 critical, 1 warning' },
      { name: 'web', kind: 'project', workspaces: '1 of 1', findings: '1 warning' },
    ]);
    expect(data.findings_trend).toMatchObject([
      { as_of: night(2), critical: 1, warning: 2 },
      { as_of: night(1), critical: 0, warning: 1 },
    ]);
  });

  it('shows a few names of a group at once, and the others when it is opened', async () => {
    const warehouse = await createReportWarehouse();
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    await warehouse.pull(night(1), { workspaces: names.map((name) => workspace(name)) });
    for (const name of names) {
      await recordFinding(warehouse, name, 'drifted-workspace', [{ at: night(1), state: 'new', reason: 'found' }]);
    }
    const options = warehouse.options(night(1), { names: ['drift'] });
    await renderReports(options);
    const html = await readFile(join(options.out, 'drift.html'), 'utf8');
    const [, lead = ''] = /<section id="open_findings"([\s\S]*?)<\/section>/u.exec(html) ?? [];
    expect(lead.match(/<bdi>[a-g]<\/bdi>/gu)).toHaveLength(7);
    expect(lead).toContain('<summary>and 3 more');
  });

  it('names the numbers of the configuration, never the names of its settings', async () => {
    const warehouse = await createReportWarehouse();
    await recordFinding(warehouse, 'k', 'key-rotation-overdue', [{ at: night(1), state: 'open', reason: 'found' }]);
    const [row] = (await warehouse.data('overview', night(1), ['open_findings'])).open_findings as object[];
    expect(row).toMatchObject({
      command: 'tidemark playbook plan rotate-old-keys',
      about: 'rotate keys whose newest version is older than 90 days',
    });
  });
});

it('pages of a past time date a finding from then, although it was resolved and found again later', async () => {
  const warehouse = await createReportWarehouse();
  for (const [index, drifted] of [false, true, true, false, true].entries()) {
    await warehouse.pull(night(index + 1), { workspaces: [workspace('web', { drifted })] });
    const { database, files, thresholds, asOf } = warehouse.options(night(index + 1));
    await evaluateFindings({ database, files, thresholds, asOf });
  }
  const options = warehouse.options(night(3), { names: ['drift'] });
  await renderReports(options);
  const read = (path: string) => readFile(join(options.out, path), 'utf8');
  expect(await read('drift.txt')).toMatch(/Workspace web drifts\n {4}since 2026-11-02, 24 hours\n/u);
  const [, path = ''] = /href="(subjects\/workspace-[^"]+)"/u.exec(await read('drift.html')) ?? [];
  expect(await read(path)).toContain('open since 2026-11-02 02:15');
});

it('a page with findings of several targets names the target of each line, one with those of one target none', async () => {
  const warehouse = await createReportWarehouse();
  const read = async (at: string, extension: string) => {
    const options = warehouse.options(at, { names: ['drift'] });
    const { database, files, thresholds, asOf } = options;
    await evaluateFindings({ database, files, thresholds, asOf });
    await renderReports(options);
    return readFile(join(options.out, `drift.${extension}`), 'utf8');
  };
  await warehouse.pull(night(1), { workspaces: [workspace('web', { drifted: true })] });
  expect(await read(night(1), 'txt')).toMatch(/Workspace web drifts.*\n {4}since 2026-11-01\n/u);
  await warehouse.pull('2026-11-01T02:15:01Z', { workspaces: [workspace('web', { drifted: true })] }, 'second');
  const text = await read('2026-11-01T02:15:01Z', 'txt');
  expect(text.match(/Workspace web drifts.*\n {4}since 2026-11-01, in \w+\n/gu)).toHaveLength(2);
  const page = await read('2026-11-01T02:15:01Z', 'html');
  expect(page).toContain(', in <bdi>acme</bdi>');
  expect(page).toContain(', in <bdi>second</bdi>');
});
