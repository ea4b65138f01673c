import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { renderReports } from '../../src/tell/reports/index.ts';
import { createMailWarehouse, type MailWarehouse } from '../helpers/mail-warehouse.ts';
import { workspace } from '../helpers/report-warehouse.ts';
import { type Cleanup, share } from '../helpers/temp.ts';

const night = (day: number) => `2026-11-0${day}T02:15:00Z`;
const LAST = night(4);

const bad = { drifted: true, resources_drifted: 1, checks_failed: 1 };
const unknown = { drifted: null, checks_failed: null };
const contradicts = { drifted: false, resources_drifted: 2, checks_failed: null };
const NIGHTS: readonly (Parameters<MailWarehouse['pull']>[1]['workspaces'] | 'failed')[] = [
  [
    workspace('stays', bad),
    workspace('heals', bad),
    workspace('goes', bad),
    workspace('hides', bad),
    workspace('flaps', bad),
  ],
  [
    workspace('stays', bad),
    workspace('heals', bad),
    workspace('goes', bad),
    workspace('hides', bad),
    workspace('flaps'),
  ],
  'failed',
  [
    workspace('stays', bad),
    workspace('heals'),
    workspace('hides', unknown),
    workspace('contradicts', contradicts),
    workspace('flaps', bad),
    workspace('comes', bad),
  ],
];

/** A night in which one drift stays, one heals, one goes with its workspace, one is not assessed, one returns and one is new. */
const lastNight = share(async (cleanup: Cleanup) => {
  const warehouse = await createMailWarehouse(undefined, undefined, cleanup);
  for (const [index, workspaces] of NIGHTS.entries()) {
    await warehouse.pull(night(index + 1), { workspaces: workspaces ?? 'failed' });
    await warehouse.evaluate(night(index + 1));
  }
  const options = warehouse.options(LAST);
  await renderReports(options);
  const read = (name: string) => readFile(join(options.out, name), 'utf8');
  return { warehouse, read, mail: await warehouse.digest(LAST) };
});

it('the same fact has one number and one word in both reports, the overview, the mail, the findings and SQL', async () => {
  const { warehouse, read, mail } = await lastNight();
  const expected = { new: 1, returned: 1, resolved: 1, deleted: 1 };
  for (const [report, number, rule] of [
    ['drift', 'drifting', 'drifted-workspace'],
    ['check-failure', 'failing', 'failing-checks'],
  ] as const) {
    const data = JSON.parse(await read(`${report}.json`));
    const { summary } = data;
    const [counts] = data.finding_counts;
    const newly = report === 'drift' ? summary.newly_drifted : summary.newly_failing;
    const { returned, resolved, deleted } = summary;
    expect({ new: newly, returned, resolved, deleted }).toEqual(expected);
    expect(summary[number]).toBe(4);
    expect(summary[`${number}_before`]).toBe(4);
    const { appeared, returned: back, resolved: healed, deleted: gone } = counts;
    expect({ new: appeared, returned: back, resolved: healed, deleted: gone }).toEqual(expected);
    expect([counts.open_findings, counts.open_before, counts.not_assessed_now]).toEqual([4, 4, 1]);
    const [findings] = await warehouse.database.rows(
      `select count(*) as number from findings where rule = '${rule}' and state in ('new', 'open')`,
    );
    expect(findings?.number).toBe(4);
    const change = report === 'drift' ? 'drift_change' : 'failing_change';
    const changes = await warehouse.database.rows(
      `select ${change} as change, count(*) as number from workspace_changes('${LAST}', null) where ${change} is not null group by all`,
    );
    expect(Object.fromEntries(changes.map((row) => [row.change, row.number]))).toEqual(expected);
    const { areas } = JSON.parse(await read('overview.json'));
    expect(areas.find((area: { report: string }) => area.report === report)).toMatchObject({
      number: 4,
      before: 4,
      changes: '1 new, 1 returned, 1 resolved, 1 deleted',
    });
    const label = report === 'drift' ? 'workspaces drifting' : 'workspaces failing checks';
    expect(mail.text).toContain(`${label}: 4 (1 new, 1 returned, 1 resolved, 1 deleted)`);
    expect(mail.subject).toContain(`4 ${report === 'drift' ? 'drifting' : 'failing checks'} (+2 −2)`);
  }
});

it('a deleted workspace is never called resolved', async () => {
  const { read, mail } = await lastNight();
  const section = (title: string) => mail.text.split(`\n${title}: `)[1]?.split(/\n\n/u)[0] ?? '';
  expect(section('Resolved')).toContain('heals');
  expect(section('Resolved')).not.toContain('goes');
  expect(section('Deleted, and no longer a finding')).toContain('goes');
  expect(JSON.parse(await read('drift.json')).deleted).toMatchObject([{ workspace_name: 'goes' }]);
  expect(await read('drift.txt')).toContain('4 of 6 workspaces drift');
});

it('a night on which nothing was assessed is a gap, on the page and in the mail', async () => {
  const { read, mail } = await lastNight();
  expect(await read('drift.html')).toMatch(/<path class="gap" [^>]*><title>3 Nov: not assessed<\/title>/u);
  expect(mail.text).toContain('5 4 × 4');
  expect(mail.text).toContain('1 day not assessed');
});

it('a finding has the same next step on the page, in the mail and on the page of its subject', async () => {
  const { read, mail } = await lastNight();
  const step = 'start a run that applies the configuration, or import what was changed by hand';
  const [, path = ''] = /href="(subjects\/workspace-ws-comes-[^"]+)"/u.exec(await read('drift.html')) ?? [];
  for (const text of [await read('drift.html'), mail.text, mail.html, await read(path)]) expect(text).toContain(step);
});

it('every page says until when it is current, and so does the mail', async () => {
  const { read, mail } = await lastNight();
  const until = '2026-11-05 14:15'; // staleHours after the run
  for (const name of ['index', 'overview', 'drift', 'subjects']) {
    expect(await read(`${name}.html`)).toContain(`data-until="2026-11-05T14:15:00Z"`);
    expect(await read(`${name}.html`)).toContain('As of <time datetime="2026-11-04T02:15:00Z">2026-11-04 02:15</time>');
  }
  const [, path = ''] = /href="(subjects\/workspace-[^"]+)"/u.exec(await read('drift.html')) ?? [];
  expect(await read(path)).toContain('data-until="2026-11-05T14:15:00Z"');
  expect(mail.text).toContain(`current until ${until} UTC`);
  expect(await read('index.html')).not.toContain('minutes old');
});
