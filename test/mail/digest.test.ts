import { describe, expect, test } from 'vitest';
import { createMailWarehouse, mailConfig, NIGHTLY, PLATFORM } from '../helpers/mail-warehouse.ts';
import { workspace } from '../helpers/report-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const FIRST = '2026-11-18T02:15:00Z';
const SECOND = '2026-11-19T02:15:00Z';
const THIRD = '2026-11-20T02:15:00Z';

const drifting = (id: string, more = {}) => workspace(id, { drifted: true, resources_drifted: 3, ...more });

async function twoNights() {
  const estate = await createMailWarehouse();
  await estate.pull(FIRST, {
    workspaces: [drifting('a'), drifting('b'), drifting('gone'), workspace('c'), workspace('d')],
  });
  await estate.evaluate(FIRST);
  await estate.pull(SECOND, {
    workspaces: [drifting('a'), workspace('b'), drifting('c'), drifting('d'), workspace('e', { checks_failed: 2 })],
  });
  await estate.evaluate(SECOND);
  return estate;
}

describe('a digest', () => {
  test('answers in its subject: the numbers that are not at rest, with what came and what went', async () => {
    const estate = await twoNights();
    const { subject } = await estate.digest(SECOND);
    // `gone` went with its workspace: neither drifting nor resolved, as in the report
    expect(subject).toBe('Tidemark acme: 3 drifting (+2 −1), 1 failing its checks (+1)');
  });

  test('says the same numbers as the drift report', async () => {
    const estate = await twoNights();
    const { summary } = await estate.data('drift', SECOND);
    expect(summary).toMatchObject({ drifted: 3, newly_drifted: 2, resolved: 1 });
  });

  test('names what is new, what is resolved and what is still open, in both parts', async () => {
    const estate = await twoNights();
    const { text, html } = await estate.digest(SECOND);
    const part = (from: string, to: string) => text.slice(text.indexOf(from), text.indexOf(to));
    expect(part('New: 3', 'Resolved')).toMatch(
      /Workspace c drifts.*Workspace d drifts.*2 checks of workspace e failed/su,
    );
    expect(part('Resolved: 2', 'Worst still open')).toMatch(/Workspace b drifts/u);
    expect(part('Worst still open: 1', 'Data:')).toMatch(/Workspace a drifts in 3 resources/u);
    for (const words of ['New: 3', 'Resolved: 2', 'Worst still open: 1', 'Workspace b drifts'])
      expect(html).toContain(words);
  });

  test('tells the first time that there is nothing to compare with, and calls nothing new', async () => {
    const estate = await createMailWarehouse();
    await estate.pull(FIRST, { workspaces: [drifting('a')] });
    await estate.evaluate(FIRST);
    const { subject, text } = await estate.digest(FIRST);
    expect(subject).toBe('Tidemark acme: 1 drifting');
    expect(text).toContain('the first one: nothing to compare with yet');
    expect(text).toContain('Nothing new.');
    expect(text).toContain('Worst still open: 1');
  });

  test('calls nothing new of a source that was never pulled before', async () => {
    const estate = await createMailWarehouse();
    await estate.pull(FIRST, { agent_pools: [], agents: [] });
    await estate.evaluate(FIRST);
    await estate.pull(SECOND, { workspaces: [drifting('a')] });
    await estate.evaluate(SECOND);
    const { subject, text } = await estate.digest(SECOND);
    expect(subject).toBe('Tidemark acme: 1 drifting');
    expect(text).toContain('New: 0');
    expect(text).toContain('Worst still open: 1');
  });

  test('compares with the run of its own job before, not with the last pull', async () => {
    const estate = await twoNights();
    await estate.database.run(
      `insert into runs values ('w1', 'acme', 'weekly', 'complete', $at::timestamptz, $at::timestamptz)`,
      { at: FIRST },
    );
    await estate.pull(THIRD, { workspaces: [drifting('a')] });
    await estate.evaluate(THIRD);
    const weekly = { name: 'weekly', reports: [], mail: { to: ['x@acme.example'], when: 'always' as const } };
    expect((await estate.digest(THIRD, { job: weekly })).text).toContain('compared with 2026-11-18 02:15 UTC');
    expect((await estate.digest(THIRD)).text).toContain('compared with 2026-11-19 02:15 UTC');
  });

  test('is all quiet where nothing is wrong', async () => {
    const estate = await createMailWarehouse();
    await estate.pull(FIRST, { workspaces: [workspace('a')] });
    await estate.evaluate(FIRST);
    expect((await estate.digest(FIRST)).subject).toBe('Tidemark acme: all quiet');
  });

  test('names stale sources with their age and the reason, in the subject too', async () => {
    const estate = await twoNights();
    await estate.pull(THIRD, { workspaces: 'failed' });
    await estate.evaluate(THIRD);
    const { subject, text, html } = await estate.digest(THIRD);
    expect(subject).toContain('no fresh data, 3 drifting');
    for (const part of [text, html]) {
      expect(part).toMatch(
        /acme: workspaces.*failed; data of 2026-11-19 02:15 UTC, 24 hours old.*the service answered 502/su,
      );
    }
    expect(text).toContain('Data: 0 of 1 sources complete and fresh.');
    expect(text).toContain('Nothing new, as far as complete sources tell.');
  });

  test('puts the sources of a target that fails as a whole into one line', async () => {
    const estate = await twoNights();
    await estate.pull(SECOND, { agent_pools: [], agents: [] });
    await estate.pull(THIRD, { workspaces: 'failed', agent_pools: 'failed', agents: 'quarantined' });
    const { text } = await estate.digest(THIRD);
    expect(text).toMatch(/^- acme: agent_pools, workspaces: failed; data of 2026-11-19 02:15 UTC, 24 hours old \(/mu);
    expect(text).toMatch(/^- acme: agents: quarantined; /mu);
  });

  test('does not call agents silent because they could not be asked tonight', async () => {
    const estate = await twoNights();
    const pools = [{ pool_id: 'p', name: 'p' }];
    const agents = [
      { agent_id: 'a', pool_id: 'p', status: 'idle', last_ping_at: '2026-11-19T02:14:00Z' },
      { agent_id: 'b', pool_id: 'p', status: 'unknown', last_ping_at: '2026-11-19T02:00:00Z' },
    ];
    await estate.pull(SECOND, { agent_pools: pools, agents, agent_pool_workspaces: [] });
    await estate.pull(THIRD, { agent_pools: 'failed', agents: 'failed' });
    expect((await estate.digest(THIRD)).text).toContain('silent agents: 1 (no change)');
  });

  test('calls a night without a complete pull no change, whatever the night before brought', async () => {
    const estate = await twoNights();
    await estate.pull(THIRD, { workspaces: 'failed' });
    await estate.evaluate(THIRD);
    expect((await estate.digest(THIRD)).text).toContain('workspaces drifting: 3 (no change)');
  });

  test('shows the nights as bars, and says them in words', async () => {
    const estate = await twoNights();
    const { html, text } = await estate.digest(SECOND);
    expect(html).toContain('aria-label="workspaces drifting by night: 3 3"');
    expect(text).toContain('workspaces drifting, 2026-11-18 to 2026-11-19: 3 to 3 over 2 nights, 3 now');
  });

  test('lists what has been open the longest when it tells of more than two days', async () => {
    const estate = await twoNights();
    await estate.database.run(`delete from runs where started_at > $first::timestamptz`, { first: FIRST });
    const later = '2026-11-25T02:15:00Z';
    await estate.pull(later, { workspaces: [drifting('a'), drifting('c')] });
    await estate.evaluate(later);
    const { text } = await estate.digest(later);
    expect(text).toMatch(/Open the longest\n-+\n7 days: Workspace a drifts/u);
    expect((await estate.digest(SECOND)).text).not.toContain('Open the longest');
  });

  test('links to the reports where they are served, and attaches their pages where not', async () => {
    const folder = await tempFolder();
    const estate = await twoNights();
    const served = mailConfig(folder, { reportsUrl: 'https://reports.internal/tidemark/' });
    const linked = await estate.digest(SECOND, { config: served });
    expect(linked.html).toContain('<a href="https://reports.internal/tidemark/drift.html"');
    expect(linked.text).toContain('All reports: https://reports.internal/tidemark/index.html');
    expect(linked.pages).toEqual([]);
    const plain = await estate.digest(SECOND);
    expect(plain.pages).toEqual([
      { name: 'drift', date: '2026-11-19' },
      { name: 'check-failure', date: '2026-11-19' },
    ]);
    expect(plain.text).toContain('Attached as pages, up to 4 MB: drift.html, check-failure.html.');
  });

  test('says why one gets it', async () => {
    const estate = await twoNights();
    expect((await estate.digest(SECOND)).text).toContain(
      'You get this because jobs/nightly.yaml names you under mail.to.',
    );
    const asked = await estate.digest(SECOND, { to: ['me@acme.example'] });
    expect(asked.text).toContain('You get this because somebody asked for it with tidemark mail nightly --to.');
  });

  test('says what others want said, and carries what they attach', async () => {
    const estate = await twoNights();
    const plan = { name: 'plan.json', type: 'application/json', text: '{}' };
    const message = await estate.digest(SECOND, {
      notes: ['reap-dead-agents: 2 actions planned'],
      attachments: [plan],
    });
    expect(message.text).toContain('Playbooks\n---------\nreap-dead-agents: 2 actions planned');
    expect(message.attachments).toContainEqual(plan);
  });
});

describe('`when`', () => {
  const job = (when: 'changed' | 'findings') => ({ ...NIGHTLY, mail: { to: ['x@acme.example'], when } });

  test('`changed` leaves a night out in which nothing moved, and says so', async () => {
    const estate = await twoNights();
    await estate.pull(THIRD, {
      workspaces: [drifting('a'), workspace('b'), drifting('c'), drifting('d'), workspace('e', { checks_failed: 2 })],
    });
    await estate.evaluate(THIRD);
    const { messages, skipped } = await estate.compose(THIRD, { job: job('changed') });
    expect(messages).toEqual([]);
    expect(skipped).toEqual([{ recipients: ['x@acme.example'], reason: 'nothing changed' }]);
    expect((await estate.compose(SECOND, { job: job('changed') })).messages).toHaveLength(1);
  });

  test('`changed` speaks up when a source fails', async () => {
    const estate = await twoNights();
    await estate.pull(THIRD, { workspaces: 'failed' });
    await estate.evaluate(THIRD);
    expect((await estate.compose(THIRD, { job: job('changed') })).messages).toHaveLength(1);
  });

  test('`findings` leaves a night out in which nothing is found', async () => {
    const estate = await createMailWarehouse();
    await estate.pull(FIRST, { workspaces: [workspace('a')] });
    await estate.evaluate(FIRST);
    const { messages, skipped } = await estate.compose(FIRST, { job: job('findings') });
    expect([messages, skipped[0]?.reason]).toEqual([[], 'nothing is found']);
    expect((await (await twoNights()).compose(SECOND, { job: job('findings') })).messages).toHaveLength(1);
  });

  test('does not keep back a digest that somebody asks for', async () => {
    const estate = await createMailWarehouse();
    await estate.pull(FIRST, { workspaces: [workspace('a')] });
    await estate.evaluate(FIRST);
    expect((await estate.compose(FIRST, { job: job('findings'), isRequested: true })).messages).toHaveLength(1);
  });
});

describe('size and hostile names', () => {
  const hostile = (index: number) =>
    `${index}<script>alert("1")</script>\u202e${`"'&<`.repeat(40)}${'\u{1f30a}'.repeat(40)}${'x'.repeat(300)}`;

  test('stays under 80 KB however many and however nasty the names, and attaches all of them', async () => {
    const estate = await createMailWarehouse();
    const many = (from: number) =>
      Array.from({ length: 400 }, (_, index) =>
        drifting(hostile(from + index), { external_id: `ws-${from + index}`, checks_failed: 1 }),
      );
    await estate.pull(FIRST, { workspaces: many(0) });
    await estate.evaluate(FIRST);
    await estate.pull(SECOND, { workspaces: many(200) });
    await estate.evaluate(SECOND);
    const { html, text, attachments, subject } = await estate.digest(SECOND);
    expect(Buffer.byteLength(html)).toBeLessThan(80_000);
    expect(Buffer.byteLength(html)).toBeGreaterThan(20_000);
    expect(text).toContain('New: 400 (20 of 400 lines)');
    const short = await estate.digest(SECOND, { maxHtmlBytes: 40_000 });
    expect(Buffer.byteLength(short.html)).toBeLessThan(40_000);
    expect(short.text).toContain('New: 400 (5 of 400 lines)');
    expect(html).not.toContain('<script>');
    expect(`${html}${text}${subject}`).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/u);
    const csv = attachments.find(({ name }) => name === 'findings.csv');
    expect(csv?.text.match(/^new,/gmu)).toHaveLength(400);
    expect(csv?.text.match(/^open,/gmu)).toHaveLength(400);
  });

  test('keeps line breaks, controls and direction marks out of subject and list, and formulas out of the CSV', async () => {
    const estate = await createMailWarehouse(
      mailConfig(await tempFolder(), {
        mail: {
          smtp: 'smtp://127.0.0.1',
          from: 'r@acme.example',
          routes: [{ to: 'o@acme.example', projects: ['pay\u202e\r\nBcc: evil@x.example*', 'core'] }],
        },
      }),
    );
    const names = [
      '=HYPERLINK("http://evil")',
      'a\r\nBcc: evil@x.example',
      '+1',
      'b\u0007\u202e',
      '@x',
      '-2',
      'c',
      'd',
    ];
    const nights = Array.from({ length: 24 }, (_, index) => names[index % names.length] ?? '');
    await estate.pull(FIRST, {
      workspaces: nights.map((name, index) => drifting(`${index}`, { workspace_name: name })),
    });
    await estate.evaluate(FIRST);
    const { messages } = await estate.compose(FIRST);
    for (const { subject, text, attachments } of messages) {
      expect(subject).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(text).not.toMatch(/^Bcc:/mu);
      expect(attachments[0]?.text).not.toMatch(/(?:^|,)"?[=+@-]/mu);
      expect(attachments[0]?.text).toContain(`'=HYPERLINK`);
    }
    expect(messages).toHaveLength(2);
  });
});

test('many targets are counted in the subject, not named', async () => {
  const targets = ['eu', 'us', 'ap', 'sa'].map((name) => ({ ...PLATFORM, name }));
  const estate = await createMailWarehouse(mailConfig(await tempFolder(), { targets }));
  for (const { name } of targets) await estate.pull(FIRST, { workspaces: [drifting(name)] }, name);
  await estate.evaluate(FIRST);
  expect((await estate.digest(FIRST)).subject).toBe('Tidemark 4 targets: 4 drifting');
});
