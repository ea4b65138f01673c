import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { acceptFindings } from '../../src/tell/findings/evaluate.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import type { Row } from '../../src/warehouse/values.ts';
import { createMailWarehouse, mailConfig, NIGHTLY, PLATFORM } from '../helpers/mail-warehouse.ts';
import { workspace } from '../helpers/report-warehouse.ts';
import { share, tempFolder } from '../helpers/temp.ts';
import { drifting, FIRST, quietRun, SECOND, THIRD, twoRuns } from './digest-runs.ts';

/** The warehouse after two runs with the digest of the second. No test changes it. */
const secondRun = share(async (cleanup) => {
  const warehouse = await twoRuns(cleanup);
  return { warehouse, message: await warehouse.digest(SECOND) };
});

/** A requested digest of the second run with a note and an attachment, where `reportsUrl` is set. */
const requested = share(async (cleanup) => {
  const { warehouse } = await secondRun();
  const config = mailConfig(await tempFolder(cleanup), { reportsUrl: 'https://reports.internal/tidemark/' });
  const plan = { name: 'plan.json', type: 'application/json', text: '{}' };
  const message = await warehouse.digest(SECOND, {
    config,
    to: ['me@acme.example'],
    notes: ['reap-dead-agents: 2 actions planned'],
    attachments: [plan],
  });
  return { message, plan };
});

/** The warehouse after two runs and a third whose pull failed. No test changes it. */
const failedRun = share(async (cleanup) => {
  const warehouse = await twoRuns(cleanup);
  await warehouse.pull(THIRD, { workspaces: 'failed' });
  await warehouse.evaluate(THIRD);
  return { warehouse, message: await warehouse.digest(THIRD) };
});

/** The warehouse after a quiet run. No test changes it. */
const quiet = share(quietRun);

describe('a digest', () => {
  test('has a subject with the metrics that are not zero or changed', async () => {
    const { subject } = (await secondRun()).message;
    // the workspace `gone` was deleted, so it does not drift, and is not resolved
    expect(subject).toBe('Tidemark acme: 3 drifting (+2 −2), 1 failing its checks (+1)');
  });

  test('tells what a run was the first to assess from what is new', async () => {
    const warehouse = await createMailWarehouse();
    await warehouse.pull(FIRST, { workspaces: [workspace('a', { drifted: true })] });
    await warehouse.pull(SECOND, { workspaces: [workspace('a', { drifted: true })] });
    await warehouse.evaluate(SECOND);
    expect((await warehouse.digest(SECOND)).text).toContain('open findings: 1 (1 assessed for the first time)\n');
  });

  test('has the numbers of the drift report', async () => {
    const { warehouse } = await secondRun();
    const { summary } = await warehouse.data('drift', SECOND, []);
    expect(summary).toMatchObject({ drifted: 3, newly_drifted: 2, resolved: 1 });
  });

  test('lists new, resolved and open findings, in both parts', async () => {
    const { text, html } = (await secondRun()).message;
    const part = (from: string, to: string) => text.slice(text.indexOf(from), text.indexOf(to));
    expect(part('New: 3', 'Resolved')).toMatch(
      /2 checks of workspace e failed.*new workspace.*Workspace c drifts.*Workspace d drifts/su,
    );
    expect(part('Resolved: 1', 'Deleted')).toMatch(/Workspace b drifts/u);
    expect(part('Deleted, and no longer a finding: 1', 'Numbers')).toMatch(/Workspace gone drifts/u);
    expect(part('Still open: 1', 'Data:')).toMatch(/Workspace a drifts in 3 resources/u);
    for (const words of ['New: 3', 'Resolved: 1', 'Still open: 1', 'Workspace b drifts']) expect(html).toContain(words);
  });

  test('says which rules could not be assessed, since when and why, and is not quiet then', async () => {
    const warehouse = await quietRun();
    await warehouse.database.run(
      `insert into unassessed_rules by name
       select 'acme' as target, 'empty-agent-pool' as rule, 'info' as severity, 'the list is partial' as reason, $at::timestamptz as since`,
      { at: FIRST },
    );
    const { subject, text, html } = await warehouse.digest(FIRST);
    expect(subject).toBe('Tidemark acme: 1 rule not assessed');
    expect(text).toContain('- acme: empty-agent-pool: the list is partial (since 2026-11-18 02:15 UTC)');
    expect(html).toContain('the list is partial');
  });

  test('tells what is new before what could not be assessed, which is a line for each target and time, at most ten', async () => {
    const warehouse = await quietRun();
    await warehouse.database.run(
      `insert into unassessed_rules by name
       select
         'acme' as target, 'rule-' || n as rule, if(n = 2, 'critical', 'info') as severity, 'reason ' || n as reason,
         $at::timestamptz - to_hours(if(n > 35, 0, n // 3)) as since,
       from range(1, 47) as numbers(n)`,
      { at: FIRST },
    );
    const { text, html } = await warehouse.digest(FIRST);
    const lines = text.split('\n');
    const begin = lines.findIndex((line) => line.startsWith('NOT ASSESSED'));
    expect(lines.indexOf('New: 0')).toBeLessThan(begin);
    expect(text).toContain('Nothing new among what was assessed.');
    const first =
      '- acme: rule-2, rule-1, rule-36, rule-37, rule-38, rule-39, rule-40, rule-41 and 5 more: reason 2; …';
    expect(lines[begin + 1]).toBe(`${first} (since 2026-11-18 02:15 UTC)`);
    expect(lines.slice(begin + 1, begin + 12).at(-1)).toBe('- and 2 more');
    expect(html.indexOf('New: 0')).toBeLessThan(html.indexOf('Not assessed: '));
  });

  test('has nothing to compare with at first, and lists nothing as new', async () => {
    const warehouse = await createMailWarehouse();
    await warehouse.pull(FIRST, { workspaces: [drifting('a')] });
    await warehouse.evaluate(FIRST);
    const { subject, text } = await warehouse.digest(FIRST);
    expect(subject).toBe('Tidemark acme: 1 drifting');
    expect(text).toContain('the first digest, nothing to compare with');
    expect(text).toContain('Nothing new.');
    expect(text).toContain('Still open: 1');
  });

  test('lists nothing as new from a source that was never pulled before', async () => {
    const warehouse = await createMailWarehouse();
    await warehouse.pull(FIRST, { agent_pools: [], agents: [] });
    await warehouse.evaluate(FIRST);
    await warehouse.pull(SECOND, { workspaces: [drifting('a')] });
    await warehouse.evaluate(SECOND);
    const { subject, text } = await warehouse.digest(SECOND);
    expect(subject).toBe('Tidemark acme: 1 drifting');
    expect(text).toContain('New: 0');
    expect(text).toContain('Still open: 1');
  });

  test('compares with the previous run of its job, not with the last pull', async () => {
    const warehouse = await twoRuns();
    await warehouse.database.run(
      `insert into runs values ('w1', 'acme', 'weekly', 'complete', $at::timestamptz, $at::timestamptz)`,
      { at: FIRST },
    );
    await warehouse.pull(THIRD, { workspaces: [drifting('a')] });
    const weekly = { name: 'weekly', reports: [], mail: { to: ['x@acme.example'], when: 'always' as const } };
    expect((await warehouse.digest(THIRD, { job: weekly })).text).toContain('compared with 2026-11-18 02:15 UTC');
    expect((await warehouse.digest(THIRD)).text).toContain('compared with 2026-11-19 02:15 UTC');
  });

  test('is not all quiet where no rule was ever evaluated, and has no number of findings then', async () => {
    const warehouse = await createMailWarehouse();
    await warehouse.pull(FIRST, { workspaces: [workspace('a')] });
    const { subject, text } = await warehouse.digest(FIRST);
    expect(subject).toMatch(/^Tidemark acme: \d+ rules not assessed$/u);
    expect(text).toMatch(/^- acme: .*: no rule was ever evaluated \(since 2026-11-18 02:15 UTC\)$/mu);
    expect(text).not.toMatch(/critical findings|open findings/u);
    await warehouse.evaluate(FIRST);
    expect((await warehouse.digest(FIRST)).text).not.toContain('no rule was ever evaluated');
  });

  test('is all quiet without findings', async () => {
    const warehouse = await quiet();
    expect((await warehouse.digest(FIRST)).subject).toBe('Tidemark acme: all quiet');
  });

  test('is not all quiet where a workspace was not assessed', async () => {
    const warehouse = await createMailWarehouse();
    await warehouse.pull(FIRST, { workspaces: [workspace('a'), workspace('b', { drifted: null })] });
    await warehouse.evaluate(FIRST);
    expect((await warehouse.digest(FIRST)).subject).toBe('Tidemark acme: 1 not assessed for drift');
  });

  test('names stale sources with their age and the reason, also in the subject', async () => {
    const { subject, text, html } = (await failedRun()).message;
    expect(subject).toContain('no fresh data, 3 drifting');
    for (const part of [text, html]) {
      expect(part).toMatch(
        /acme: workspaces.*failed; data as of 2026-11-19 02:15 UTC, 24 hours old.*the service answered 502/su,
      );
    }
    expect(text).toContain('Data: 0 of 1 sources complete and fresh.');
    expect(text).toContain('Nothing new in the sources that are up to date.');
  });

  test('groups the sources of a target that have the same state', async () => {
    const warehouse = await twoRuns();
    await warehouse.pull(SECOND, { agent_pools: [], agents: [] });
    await warehouse.pull(THIRD, { workspaces: 'failed', agent_pools: 'failed', agents: 'quarantined' });
    const { text } = await warehouse.digest(THIRD);
    expect(text).toMatch(
      /^- acme: agent_pools, workspaces: failed; data as of 2026-11-19 02:15 UTC, 24 hours old \(/mu,
    );
    expect(text).toMatch(/^- acme: agents: quarantined; /mu);
  });

  test('does not count agents as silent because their pull failed', async () => {
    const warehouse = await twoRuns();
    const pools = [{ pool_id: 'p', name: 'p' }];
    const agents = [
      { agent_id: 'a', pool_id: 'p', status: 'idle', last_ping_at: '2026-11-19T02:14:00Z' },
      { agent_id: 'b', pool_id: 'p', status: 'unknown', last_ping_at: '2026-11-19T02:00:00Z' },
    ];
    await warehouse.pull(SECOND, { agent_pools: pools, agents, agent_pool_workspaces: [] });
    await warehouse.pull(THIRD, { agent_pools: 'failed', agents: 'failed' });
    expect((await warehouse.digest(THIRD)).text).toContain('agents silent at their pull: 1 (no change)');
  });

  test('counts the certificates that the report counts: one far from its end is not among them', async () => {
    const mesh = { name: 'mesh', kind: 'mesh', url: 'https://mesh.example', token: 'tok-en' };
    const warehouse = await createMailWarehouse(mailConfig(await tempFolder(), { targets: [mesh] }));
    const root = (id: string, not_after: string) => ({ root_id: id, name: id, active: true, not_after });
    const pull = async (at: string, ends: string) => {
      const ca_roots = [root('later', '2027-01-20T00:00:00Z'), root('soon', ends)];
      await warehouse.pull(at, { ca_roots, leaf_certificates: [], authority_certificates: [] }, 'mesh');
      await warehouse.evaluate(at);
    };
    await pull(FIRST, '2027-01-20T00:00:00Z');
    expect((await warehouse.digest(FIRST)).text).toMatch(/^certificates expiring soon or expired: 0$/mu);
    await pull(SECOND, '2026-12-01T00:00:00Z');
    const digest = await warehouse.digest(SECOND);
    expect(digest.text).toMatch(/^certificates expiring soon or expired: 1 \(\+1\)$/mu);
    expect(digest.html).toContain('>certificate expiring soon or expired<');
    const { summary } = await warehouse.data('certificates', SECOND, []);
    expect(summary).toMatchObject({ roots_expiring: 1, roots_expired: 0 });
    expect(summary.headline).toBe('1 of 2 active roots expires soon or has expired');
  });

  test('a metric of a user without a number is not known, and an order that is no number is the last', async () => {
    const root = await tempFolder();
    await mkdir(join(root, 'queries/mail/metrics'), { recursive: true });
    const own = "-- order: first\n-- label: own\n-- one: own\n-- many: own\nselect null as value, 'x' as before";
    await writeFile(join(root, 'queries/mail/metrics/own.sql'), own);
    const warehouse = await createMailWarehouse();
    await warehouse.pull(FIRST, { workspaces: [workspace('a')] });
    await warehouse.evaluate(FIRST);
    const { text, subject } = await warehouse.digest(FIRST, { files: createSqlFiles([root, PACKAGE_ROOT]) });
    expect(text).toMatch(/open findings: \d+\nown: —\n/u);
    expect(subject).not.toContain('own');
  });

  test.each([
    ['-- souces: agents\nselect 1 as value', 'unknown header line `-- souces: …`: did you mean sources?'],
    [
      '-- sources: agnts\nselect 1 as value',
      'the header line `-- sources: …` names agnts, which fills no table: did you mean agents?',
    ],
    ["select 'x'::int as value", "Conversion Error: Could not convert string 'x' to INT32"],
  ])('a metric of a user that is wrong (%s) is not known, and the digest says why', async (sql, message) => {
    const root = await tempFolder();
    await mkdir(join(root, 'queries/mail/metrics'), { recursive: true });
    await writeFile(join(root, 'queries/mail/metrics/own.sql'), `-- label: own\n${sql}`);
    const warehouse = await createMailWarehouse();
    await warehouse.pull(FIRST, { workspaces: [workspace('a')] });
    const { text, subject } = await warehouse.digest(FIRST, { files: createSqlFiles([root, PACKAGE_ROOT]) });
    expect(text).toContain(`: ${message}: —\n`);
    expect(subject).toContain('1 number not known');
  });

  test('shows no change for a run without a complete pull, and that the number is stale', async () => {
    const { text, html } = (await failedRun()).message;
    expect(text).toContain('workspaces drifting: 3 (no change), stale');
    expect(html).toContain('workspaces drifting (stale)');
    expect(text).toMatch(/^critical findings: .*, stale$/mu);
    expect(text).toMatch(/^open findings: .*, stale$/mu);
    expect((await secondRun()).message.text).not.toContain(', stale');
  });

  test('shows the trend as bars and in words', async () => {
    const { html, text } = (await secondRun()).message;
    expect(html).toContain('aria-label="workspaces drifting per day: 3 3"');
    expect(text).toContain('workspaces drifting, 2026-11-18 to 2026-11-19: 3 to 3 over 2 days, 3 now');
  });

  test('has no number of what is known of no workspace that is there, nor of those behind', async () => {
    const warehouse = await createMailWarehouse();
    const tf_versions = [{ version: '1.9.8' }];
    const agents = [{ agent_id: 'a', pool_id: 'p', status: 'draining', last_ping_at: FIRST }];
    await warehouse.pull(FIRST, { agent_pools: [{ pool_id: 'p' }], agents });
    await warehouse.pull(FIRST, { tf_versions, workspaces: [workspace('a', { drifted: true, checks_failed: 1 })] });
    const nothing = { drifted: null, checks_failed: null, workspace_iac_version: null };
    await warehouse.pull(SECOND, { tf_versions, workspaces: [workspace('b', nothing)] });
    const { subject, text } = await warehouse.digest(SECOND);
    expect(text).toContain('workspaces drifting: — (1 deleted)\n');
    expect(text).toContain('workspaces failing checks: — (1 deleted)\n');
    expect(text).toContain('agent pools without a live agent: —\n');
    expect(text).toMatch(
      /^workspaces drifting, .*: 1 to 1 over 1 day, 1 when last assessed; 1 day not assessed \(×\)/mu,
    );
    expect(subject).toMatch(/^Tidemark acme: 1 not assessed for drift \(\+1\), \d+ rules not assessed$/u);
    await warehouse.pull(THIRD, { tf_versions, workspaces: [workspace('b', { ...nothing, drifted: false })] });
    const third = (await warehouse.digest(THIRD)).text;
    expect(third).not.toContain('behind the newest version');
    expect(third).toMatch(/^workspaces drifting, .*: 0 to 1 over 2 days, 0 now; 1 day not assessed \(×\)/mu);
    await warehouse.pull('2026-11-22T02:15:00Z', { tf_versions, workspaces: [] });
    const { text: empty } = await warehouse.digest('2026-11-22T02:15:00Z');
    expect(empty).toMatch(/^workspaces drifting, .* 0 now; /mu);
  });

  test('says of no pool that it is down where its agents were never pulled', async () => {
    const warehouse = await createMailWarehouse();
    const agent_pools = [{ pool_id: 'apool-one', name: 'one' }];
    await warehouse.pull(FIRST, { agent_pools, agents: 'failed' });
    await warehouse.evaluate(FIRST);
    expect((await warehouse.digest(FIRST)).text).not.toContain('without a live agent');
    await warehouse.pull(SECOND, { agent_pools, agents: [] });
    await warehouse.evaluate(SECOND);
    expect((await warehouse.digest(SECOND)).text).toContain(
      'agent pools without a live agent: 1 (1 assessed for the first time)\n',
    );
    await warehouse.pull(THIRD, { agent_pools: [], agents: [] });
    expect((await warehouse.digest(THIRD)).text).toContain('agent pools without a live agent: 0 (1 deleted)\n');
  });

  test('says of no pool that it is down or not after a pull that failed, and neither does the overview', async () => {
    const other = { ...PLATFORM, name: 'other' };
    const both = mailConfig('.', { targets: [PLATFORM, other] });
    const warehouse = await createMailWarehouse(both);
    const agent_pools = [{ pool_id: 'apool-one', name: 'one' }];
    const night = async (asOf: string, agents: [] | 'failed', others: [] | 'failed') => {
      await warehouse.pull(asOf, { agent_pools, agents });
      await warehouse.pull(asOf, { agent_pools, agents: others }, 'other');
      await warehouse.evaluate(asOf);
      const { areas } = await warehouse.data('overview', asOf, ['areas']);
      const measure = 'pools without a live agent';
      const { number } = (areas as Row[]).find((row) => row.measure === measure) ?? {};
      return { number, ...(await warehouse.digest(asOf)) };
    };
    await night(FIRST, [], []);
    const failed = await night(SECOND, 'failed', 'failed');
    expect(failed.number).toBeNull();
    expect(failed.text).toContain('agent pools without a live agent: —, stale\n');
    expect(failed.subject).not.toContain('down');
    const half = await night(THIRD, [], 'failed');
    expect(half.number).toBe(1);
    expect(half.text).toContain('agent pools without a live agent: 1, stale\n');
  });

  test('shows no trend of a number that no complete pull has', async () => {
    const warehouse = await createMailWarehouse();
    for (const night of [FIRST, SECOND]) {
      await warehouse.pull(night, { workspaces: [workspace('a', { drifted: null })] });
    }
    await warehouse.pull(THIRD, { workspaces: [drifting('a')] });
    await warehouse.database.run(`update pulls set status = 'partial' where as_of = $third::timestamptz`, {
      third: THIRD,
    });
    await warehouse.evaluate(THIRD);
    const { text } = await warehouse.digest(THIRD);
    expect(text).toContain('workspaces drifting: 1');
    expect(text).not.toMatch(/∞|workspaces drifting, /u);
  });

  test('lists the oldest findings when it covers more than two days', async () => {
    const warehouse = await twoRuns();
    await warehouse.database.run(`delete from runs where started_at > $first::timestamptz`, { first: FIRST });
    const later = '2026-11-25T02:15:00Z';
    await warehouse.pull(later, { workspaces: [drifting('a'), drifting('c')] });
    await warehouse.evaluate(later);
    const { text } = await warehouse.digest(later);
    expect(text).toMatch(/Open the longest\n-+\n7 days: Workspace a drifts/u);
    expect((await secondRun()).message.text).not.toContain('Open the longest');
  });

  test('links to the reports if reportsUrl is set, and otherwise attaches their pages', async () => {
    const plain = (await secondRun()).message;
    const { message: linked } = await requested();
    expect(linked.html).toContain('<a href="https://reports.internal/tidemark/drift.html"');
    expect(linked.text).toContain('All reports: https://reports.internal/tidemark/index.html');
    expect(linked.pages).toEqual([]);
    expect(plain.pages).toEqual([
      { name: 'drift', date: '2026-11-19' },
      { name: 'check-failure', date: '2026-11-19' },
    ]);
    // Their reports are written later, if at all.
    expect(`${plain.text}${plain.html}`).not.toMatch(/drift\.html|check-failure\.html/u);
  });

  test('says why the recipient receives it', async () => {
    expect((await secondRun()).message.text).toContain(
      'You receive this mail because jobs/nightly.yaml names you under mail.to.',
    );
    expect((await requested()).message.text).toContain(
      'You receive this mail because it was requested with tidemark mail nightly --to.',
    );
  });

  test('includes notes and attachments', async () => {
    const { message, plan } = await requested();
    expect(message.text).toContain('Playbooks\n---------\nreap-dead-agents: 2 actions planned');
    expect(message.attachments).toContainEqual(plan);
  });
});

const FOURTH = '2026-11-21T02:15:00Z';

test('a number says what was accepted and what is of another severity; an accepted finding that ends is no news', async () => {
  const warehouse = await twoRuns();
  const present = [drifting('a'), drifting('c'), drifting('d'), workspace('e', { checks_failed: 2 })];
  const { database } = warehouse;
  const of = (name: string) => `(select finding_id from findings where subject_name = '${name}')`;
  const [accepted] = await database.rows(`from ${of('a')}`);
  const acceptance = { reason: 'known', owner: 'team', until: new Date('2026-12-31') };
  await acceptFindings(
    warehouse,
    { ids: [String(accepted?.finding_id)], ...acceptance },
    new Date('2026-11-19T12:00:00Z'),
  );
  await database.run(`update finding_events set severity = 'critical' where finding_id in ${of('c')}`);
  await database.run(
    `insert into finding_events by name select * replace ('warning' as severity, 'severity changed' as reason, timestamptz '${THIRD}' as changed_at)
    from finding_events where finding_id in ${of('c')}`,
  );
  await warehouse.pull(THIRD, { workspaces: present });
  await warehouse.evaluate(THIRD);
  const { text } = await warehouse.digest(THIRD);
  expect(text).toContain('critical findings: 0 (−1 by severity)\n');
  expect(text).toMatch(/open findings: \d+ \(1 accepted\)\n/u);
  const changed = { job: { ...NIGHTLY, mail: { to: ['x@acme.example'], when: 'changed' as const } } };
  expect((await warehouse.compose(THIRD, changed)).messages).toHaveLength(1);
  await warehouse.pull(FOURTH, { workspaces: [workspace('a'), ...present.slice(1)] });
  await warehouse.evaluate(FOURTH);
  const later = (await warehouse.digest(FOURTH)).text;
  expect(later).toContain('open findings: 3 (no change)');
  expect(later).toContain('Resolved: 0');
});

describe('`when`', () => {
  const job = (when: 'changed' | 'findings') => ({ ...NIGHTLY, mail: { to: ['x@acme.example'], when } });

  test('`changed` skips a run without changes, with a reason', async () => {
    const warehouse = await twoRuns();
    await warehouse.pull(THIRD, {
      workspaces: [drifting('a'), workspace('b'), drifting('c'), drifting('d'), workspace('e', { checks_failed: 2 })],
    });
    await warehouse.evaluate(THIRD);
    const { messages, skipped } = await warehouse.compose(THIRD, { job: job('changed') });
    expect(messages).toEqual([]);
    expect(skipped).toEqual([{ recipients: ['x@acme.example'], reason: 'nothing changed' }]);
    expect((await warehouse.compose(SECOND, { job: job('changed') })).messages).toHaveLength(1);
    const root = await tempFolder();
    await mkdir(join(root, 'queries/mail/metrics'), { recursive: true });
    await writeFile(join(root, 'queries/mail/metrics/own.sql'), '-- label: own\nselect nothing');
    const broken = { job: job('changed'), files: createSqlFiles([root, PACKAGE_ROOT]) };
    expect((await warehouse.compose(THIRD, broken)).messages).toHaveLength(1);
  });

  test('`changed` sends when a rule can no longer be assessed', async () => {
    const warehouse = await twoRuns();
    await warehouse.pull(THIRD, {
      workspaces: [drifting('a'), workspace('b'), drifting('c'), drifting('d'), workspace('e', { checks_failed: 2 })],
    });
    await warehouse.evaluate(THIRD);
    await warehouse.database.run(
      `insert into unassessed_rules by name select 'acme' as target, 'own' as rule, 'warning' as severity, 'it fails' as reason, '${THIRD}' as since`,
    );
    expect((await warehouse.compose(THIRD, { job: job('changed') })).messages).toHaveLength(1);
  });

  test('`changed` sends when an open finding gets worse, which is counted and comes first of its severity', async () => {
    const mesh = { name: 'mesh', kind: 'mesh', url: 'https://mesh.example', token: 'tok-en' };
    const warehouse = await createMailWarehouse(mailConfig(await tempFolder(), { targets: [mesh] }));
    const root = (id: string, not_after: string) => ({ root_id: id, name: id, active: true, not_after });
    const pull = async (at: string) => {
      const ca_roots = [root('a', '2026-10-01T00:00:00Z'), root('ends', '2026-11-25T12:00:00Z')];
      await warehouse.pull(at, { ca_roots, leaf_certificates: [], authority_certificates: [] }, 'mesh');
      await warehouse.evaluate(at);
    };
    await pull(FIRST);
    await pull(SECOND);
    const { messages } = await warehouse.compose(SECOND, { job: job('changed') });
    const [{ subject = '', text = '' } = {}] = messages;
    expect(subject).toContain('mesh: 2 critical (+1)');
    expect(text).toContain('critical findings: 2 (+1 by severity)\n');
    expect(text).toContain('open findings: 3 (no change)\n');
    const [, first, where] = text.slice(text.indexOf('Critical and open: 2')).split('\n');
    expect(first).toContain('Active CA root ends');
    expect(where).toContain('since 2026-11-18, got worse: was warning');
    await pull(THIRD);
    expect((await warehouse.compose(THIRD, { job: job('changed') })).skipped).toHaveLength(1);
  });

  test('`changed` sends when a source fails', async () => {
    const { warehouse } = await failedRun();
    expect((await warehouse.compose(THIRD, { job: job('changed') })).messages).toHaveLength(1);
  });

  test('`findings` skips a run without findings', async () => {
    const warehouse = await quiet();
    const { messages, skipped } = await warehouse.compose(FIRST, { job: job('findings') });
    expect([messages, skipped[0]?.reason]).toEqual([[], 'there are no findings']);
    const found = (await secondRun()).warehouse;
    expect((await found.compose(SECOND, { job: job('findings') })).messages).toHaveLength(1);
  });

  test('is ignored for a requested digest', async () => {
    const warehouse = await quiet();
    expect((await warehouse.compose(FIRST, { job: job('findings'), isRequested: true })).messages).toHaveLength(1);
  });
});

test('the subject counts many targets instead of naming them', async () => {
  const targets = ['eu', 'us', 'ap', 'sa'].map((name) => ({ ...PLATFORM, name }));
  const warehouse = await createMailWarehouse(mailConfig(await tempFolder(), { targets }));
  for (const { name } of targets) await warehouse.pull(FIRST, { workspaces: [drifting(name)] }, name);
  await warehouse.evaluate(FIRST);
  expect((await warehouse.digest(FIRST)).subject).toBe('Tidemark 4 targets: 4 drifting');
});
