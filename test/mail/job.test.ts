import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cli } from '../helpers/cli.ts';
import { type PageElement, parseElements } from '../helpers/html.ts';
import { startMailServer } from '../helpers/mail-server.ts';
import { MAIL, mailing, pendingRun, quietRun, writeJob } from './mail-project.ts';

describe('`tidemark run`', () => {
  test('keeps the digest pending and exits 1 if the server is unreachable', async () => {
    const from = await pendingRun();
    const place = await mailing(1, {}, from);
    const first = JSON.parse(await readFile(join(from, 'run.json'), 'utf8')) as { exit: number; stderr: string };
    expect([first.exit, existsSync(join(place.folder, 'out', 'drift.html'))]).toEqual([1, true]);
    expect(first.stderr).toMatch(/warning: mail to platform@acme\.example: pending: .*ECONNREFUSED/u);
    expect(await place.rows('select status, attempts from outbox')).toEqual([{ status: 'pending', attempts: 1 }]);
    expect((await place.tidemark(['status', '--json'])).json<{ runs: { status: string }[] }>().runs[0]?.status).toBe(
      'complete',
    );
  });

  test('mails the digest and exits 1 where the reports cannot be written', async () => {
    const server = await startMailServer();
    const place = await mailing(server.port);
    await writeFile(join(place.folder, 'out'), 'no folder');
    const { exit, stderr } = await place.tidemark(['run', 'nightly', '--json']);
    expect([exit, server.received.length]).toEqual([1, 1]);
    expect(stderr).toMatch(/^error: report \w+: .*out cannot be used: file already exists$/mu);
  });

  test('mails a digest with the numbers and the pages of the reports, and the pending one once', async () => {
    const server = await startMailServer();
    const place = await mailing(server.port, {}, await pendingRun());
    place.sandbox.tick();
    await place.configure((config) => {
      config.subjectPages = 10;
    });
    const second = await place.tidemark(['run', 'nightly', '--json']);
    expect(second.exit).toBe(0);
    expect(second.json<{ mail: unknown }>().mail).toMatchObject({
      deliveries: [
        { recipient: 'platform@acme.example', status: 'sent' },
        { recipient: 'platform@acme.example', status: 'sent' },
      ],
      problem: null,
    });
    expect(server.received).toHaveLength(2);
    expect(new Set(server.received.map(({ mail }) => mail.messageId)).size).toBe(2);
    expect(await place.rows('select distinct status from outbox')).toEqual([{ status: 'sent' }]);

    const { summary } = JSON.parse(await readFile(join(place.folder, 'out', 'drift.json'), 'utf8'));
    const { mail, recipients } = server.received[1]!;
    expect(recipients).toEqual(['platform@acme.example']);
    expect(mail.to?.[0]).toMatchObject({ name: 'Platform', address: 'platform@acme.example' });
    expect(mail.subject).toMatch(
      new RegExp(`^Tidemark acme: (?:\\d+ critical[^,]*, )?${summary.drifting} drifting`, 'u'),
    );
    const { newly_drifted, returned, resolved, deleted } = summary;
    const change = Object.entries({ new: newly_drifted, returned, resolved, deleted })
      .filter(([, count]) => Number(count) > 0)
      .map(([word, count]) => `${count} ${word}`);
    expect(mail.text).toContain(`workspaces drifting: ${summary.drifting} (${change.join(', ') || 'no change'})`);
    const page = mail.attachments.find(({ filename }) => filename === 'drift.html');
    const attached = new TextDecoder().decode(page?.content as ArrayBuffer);
    const links = (elements: readonly PageElement[]) =>
      elements.flatMap(({ tag, attributes }) => (tag === 'a' ? (attributes.href ?? []) : []));
    const text = (elements: readonly PageElement[]) => elements.find(({ tag }) => tag === 'body')?.text;
    const report = parseElements(await readFile(join(place.folder, 'out', 'drift.html'), 'utf8'));
    const sent = parseElements(attached);
    expect(text(sent)).toBe(text(report));
    expect(links(report).some((href) => href.endsWith('.html'))).toBe(true);
    expect(
      links(sent).filter((href) => !/^(?:https?:|#)/u.test(href)),
      'no link to a page that is not attached',
    ).toEqual([]);
  });

  test('rejects a job with mail before it starts if there is no mail server', async () => {
    const place = await mailing(1);
    await place.configure((config) => {
      delete config.mail;
    });
    const { exit, stderr } = await place.tidemark(['run', 'nightly']);
    expect([exit, existsSync(join(place.folder, 'data', 'warehouse.duckdb'))]).toEqual([2, false]);
    expect(stderr).toContain('tidemark.yaml: mail: is missing');
  });

  test('completes the run if a digest cannot be rendered, and exits 1', async () => {
    const server = await startMailServer();
    const place = await mailing(server.port, { pull: false, reports: ['check-failure'] }, await quietRun());
    await mkdir(join(place.folder, 'reports'));
    await writeFile(join(place.folder, 'reports', 'digest.hbs'), '{{no.such.name}}');
    const { exit, stderr } = await place.tidemark(['run', 'nightly']);
    expect([exit, existsSync(join(place.folder, 'out', 'check-failure.html'))]).toEqual([1, true]);
    expect(stderr).toContain('reports/digest.hbs');
    expect(await place.rows('select status from runs')).toEqual([{ status: 'complete' }, { status: 'complete' }]);
  });
});

describe('a job file', () => {
  test('is rejected with all problems, their fields and lines', async () => {
    const place = await mailing(1);
    await writeJob(place, {
      schedule: '99 2 * * *',
      timezone: 'Mars/Phobos',
      mail: { to: ['a@x.example, b@x.example'], when: 'sometimes' },
      heartbeat: 'file:///etc/passwd',
    });
    for (const words of [['run', 'nightly'], ['schedule']]) {
      const { exit, stderr } = await place.tidemark(words);
      expect(exit).toBe(2);
      for (const problem of [
        /jobs\/nightly\.yaml:1: schedule: must be a time that exists/u,
        /nightly\.yaml:2: timezone: there is no time zone Mars\/Phobos/u,
        /nightly\.yaml:\d+: mail\.to.*: must be one address/u,
        /nightly\.yaml:\d+: mail\.when: must be always, changed or findings/u,
        /nightly\.yaml:\d+: heartbeat: must be a URL that begins with https/u,
      ]) {
        expect(stderr).toMatch(problem);
      }
    }
  });
});

describe('`tidemark schedule`', () => {
  test('runs missed jobs like `tidemark run`, and stops when it is interrupted', async () => {
    const server = await startMailServer();
    const place = await mailing(server.port, {}, await quietRun()); // a month ago
    const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000);
    const due = ago(1);
    const schedule = `${due.getUTCMinutes()} ${due.getUTCHours()} * * *`;
    await writeJob(place, { pull: false }, 'weekly'); // replaces the job of the package
    await writeJob(place, { schedule, pull: ['workspaces'], reports: [], mail: MAIL });
    const stop = new AbortController();
    let stderr = '';
    const ended = cli(['schedule'], { cwd: place.folder, signal: stop.signal });
    while (server.received.length < 1) await new Promise((resolve) => setTimeout(resolve, 20));
    stop.abort();
    const result = await ended;
    stderr = result.stderr;
    expect(result.exit).toBe(0);
    expect(stderr).toMatch(/nightly: catching up the start at /u);
    expect(stderr).toMatch(/nightly: next run \S+ \(UTC\)/u);
    expect(await place.rows('select job, status from runs order by started_at')).toEqual([
      { job: 'nightly', status: 'complete' },
      { job: 'nightly', status: 'complete' },
    ]);
  });

  test('lists when each job is due', async () => {
    const place = await mailing(1, { schedule: '15 2 * * *', timezone: 'Europe/Berlin' });
    await writeJob(place, { schedule: '0 6 * * 1', pull: false }, 'weekly');
    const { stdout } = await place.tidemark(['schedule', '--list', '--now', '2026-11-20T12:00:00Z']);
    expect(stdout).toBe('2026-11-21T01:15:00Z  nightly (Europe/Berlin)\n2026-11-23T06:00:00Z  weekly (UTC)\n');
  });

  test('rejects a fixed time', async () => {
    const place = await mailing(1);
    expect((await place.tidemark(['schedule', '--now', '2026-11-20T12:00:00Z'])).exit).toBe(2);
  });
});
