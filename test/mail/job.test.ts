import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { cli } from '../helpers/cli.ts';
import { type PageElement, parseElements } from '../helpers/html.ts';
import { freePort, startMailServer } from '../helpers/mail-server.ts';
import { prepareProject, type TestProject, testProject } from '../helpers/test-project.ts';

const MAIL = { to: ['Platform <platform@acme.example>'], when: 'always' };

const SIZE = { workspaces: 40 };

/**
 * A sandbox with a nightly job that mails to a server on this port.
 * @param from a project folder to start with; @default nothing was pulled
 */
async function mailing(
  port: number,
  more: Readonly<Record<string, unknown>> = {},
  from?: string,
): Promise<TestProject> {
  const place = await testProject({ ...SIZE, ...(from && { from }) });
  await configureMail(place, port, more);
  return place;
}

async function configureMail(place: TestProject, port: number, more: Readonly<Record<string, unknown>> = {}) {
  await writeJob(place, { pull: ['workspaces', 'agent_pools', 'agents'], reports: ['drift'], mail: MAIL, ...more });
  await place.configure((config) => {
    config.mail = { smtp: `smtp://127.0.0.1:${port}`, from: 'Tidemark <reports@acme.example>' };
    config.subjectPages = 0; // they take half of the time of a run
  });
}

/** A project after a run whose mail server was unreachable, and what the run left. */
const pendingRun = () =>
  prepareProject('mail-pending', SIZE, async (place) => {
    await configureMail(place, await freePort());
    await writeFile(join(place.folder, 'run.json'), JSON.stringify(await place.tidemark(['run', 'nightly'])));
  });

/** A project after a run of a job without mail. */
const quietRun = () =>
  prepareProject('mail-none', SIZE, async (place) => {
    await place.configure((config) => {
      config.subjectPages = 0;
    });
    await writeJob(place, { pull: ['workspaces'], reports: ['drift'] });
    await place.tidemark(['run', 'nightly']);
  });

async function writeJob(
  { folder }: TestProject,
  job: Readonly<Record<string, unknown>>,
  name = 'nightly',
): Promise<void> {
  await mkdir(join(folder, 'jobs'), { recursive: true });
  await writeFile(join(folder, 'jobs', `${name}.yaml`), stringify(job));
}

describe('`tidemark run`', () => {
  test('mails a digest with the numbers and the pages of the reports', async () => {
    const server = await startMailServer();
    const place = await mailing(server.port);
    expect((await place.tidemark(['run', 'nightly'])).exit).toBe(0);
    place.sandbox.tick();
    await place.configure((config) => {
      delete config.subjectPages;
    });
    const second = await place.tidemark(['run', 'nightly', '--json']);
    expect(second.exit).toBe(0);
    expect(second.json<{ mail: unknown }>().mail).toMatchObject({
      deliveries: [{ recipient: 'platform@acme.example', status: 'sent' }],
      problem: null,
    });
    const { summary } = JSON.parse(await readFile(join(place.folder, 'out', 'drift.json'), 'utf8'));
    const { mail, recipients } = server.received[1]!;
    expect(recipients).toEqual(['platform@acme.example']);
    expect(mail.to?.[0]).toMatchObject({ name: 'Platform', address: 'platform@acme.example' });
    expect(mail.subject).toMatch(
      new RegExp(`^Tidemark acme: (?:\\d+ critical[^,]*, )?${summary.drifted} drifting`, 'u'),
    );
    const change = [
      summary.newly_drifted > 0 ? `+${summary.newly_drifted}` : '',
      summary.resolved > 0 ? `−${summary.resolved}` : '',
    ].filter(Boolean);
    expect(mail.text).toContain(`workspaces drifting: ${summary.drifted} (${change.join(' ') || 'no change'})`);
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

  test('keeps the digest pending and exits 1 if the server is unreachable; the next run sends both once', async () => {
    const port = await freePort();
    const from = await pendingRun();
    const place = await mailing(port, {}, from);
    const first = JSON.parse(await readFile(join(from, 'run.json'), 'utf8')) as { exit: number; stderr: string };
    expect([first.exit, existsSync(join(place.folder, 'out', 'drift.html'))]).toEqual([1, true]);
    expect(first.stderr).toMatch(/warning: mail to platform@acme\.example: pending: .*ECONNREFUSED/u);
    expect(await place.rows('select status, attempts from outbox')).toEqual([{ status: 'pending', attempts: 1 }]);
    expect((await place.tidemark(['status', '--json'])).json<{ runs: { status: string }[] }>().runs[0]?.status).toBe(
      'complete',
    );

    const server = await startMailServer({ port });
    place.sandbox.tick();
    expect((await place.tidemark(['run', 'nightly'])).exit).toBe(0);
    expect(server.received).toHaveLength(2);
    expect(new Set(server.received.map(({ mail }) => mail.messageId)).size).toBe(2);
    expect(await place.rows('select distinct status from outbox')).toEqual([{ status: 'sent' }]);
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
    const place = await mailing(server.port);
    await mkdir(join(place.folder, 'reports'));
    await writeFile(join(place.folder, 'reports', 'digest.hbs'), '{{no.such.name}}');
    const { exit, stderr } = await place.tidemark(['run', 'nightly']);
    expect([exit, existsSync(join(place.folder, 'out', 'drift.html'))]).toEqual([1, true]);
    expect(stderr).toContain('reports/digest.hbs');
    expect(await place.rows('select status from runs')).toEqual([{ status: 'complete' }]);
  });
});

describe('`tidemark mail`', () => {
  test('prints the digest with --dry-run, writes the message, and sends nothing', async () => {
    const server = await startMailServer();
    const place = await mailing(server.port, {}, await quietRun());
    const { exit, stdout, stderr } = await place.tidemark(['mail', 'nightly', '--dry-run']);
    expect([exit, stdout]).toEqual([
      0,
      expect.stringMatching(
        /^To: platform@acme\.example\nAttachments: .*drift\.html\nSubject: Tidemark acme: .*\n\nAs of /u,
      ),
    ]);
    const file = join(place.folder, 'out', 'mail', 'nightly.platform@acme.example.eml');
    expect(stderr).toContain(`wrote ${file}`);
    const eml = await readFile(file);
    const mail = await PostalMime.parse(eml);
    expect(stdout).toContain(`Subject: ${mail.text?.trim()}`);
    await place.tidemark(['mail', 'nightly', '--dry-run']);
    expect(eml.equals(await readFile(file))).toBe(true); // the same run has the same bytes
    expect(server.received).toEqual([]);
    expect(await place.rows('select * from outbox')).toEqual([]);
  });

  test('needs no mail server, no `mail:` and no recipient for --dry-run; --html writes the page', async () => {
    const place = await testProject({ ...SIZE, from: await quietRun() });
    await writeJob(place, { pull: ['workspaces'], reports: ['drift'] });
    const { exit, stdout, stderr } = await place.tidemark(['mail', 'nightly', '--dry-run', '--html', 'digest.html']);
    expect([exit, stdout]).toEqual([0, expect.stringMatching(/^To: preview@localhost\n/u)]);
    const page = join(place.folder, 'digest.html');
    expect(stderr).toContain(`wrote ${page}`);
    const html = await readFile(page, 'utf8');
    expect(html).toMatch(/^<!doctype html>/u);
    expect(html).toContain(/Subject: (.*)/u.exec(stdout)?.[1]);
    const sent = await place.tidemark(['mail', 'nightly']);
    expect([sent.exit, sent.stderr]).toEqual([2, expect.stringContaining('has no mail:')]);
  });

  test('writes one page for each digest that differs', async () => {
    const place = await mailing(1, {}, await quietRun());
    await place.configure((config) => {
      const routes = [{ to: ['core@acme.example', 'more@acme.example'], projects: ['core*'] }];
      config.mail = { smtp: 'smtp://127.0.0.1:1', from: 'r@acme.example', routes };
    });
    const words = ['mail', 'nightly', '--dry-run', '--html', 'out/d.html', '--json'];
    const { pages, digests } = (await place.tidemark(words)).json<{ pages: string[]; digests: { to: string }[] }>();
    expect(digests.map(({ to }) => to)).toEqual(['platform@acme.example', 'core@acme.example', 'more@acme.example']);
    expect(pages).toEqual(['platform', 'core'].map((to) => join(place.folder, 'out', `d.${to}@acme.example.html`)));
    for (const page of pages) expect(existsSync(page)).toBe(true);
  });

  test('sends the digest of the last run once, and with --to each time', async () => {
    const server = await startMailServer();
    const place = await mailing(server.port, {}, await pendingRun());
    await place.tidemark(['mail', '--pending']);
    const again = await place.tidemark(['mail', 'nightly']);
    expect([again.exit, again.stdout]).toEqual([0, '0 of 0 digests sent\n']);
    expect(again.stderr).toContain('platform@acme.example already has the digest');
    const words = ['mail', 'nightly', '--to', 'me@acme.example', '--to', 'you@acme.example'];
    expect((await place.tidemark(words)).stdout).toBe('2 of 2 digests sent\n');
    const later = new Date(place.sandbox.now.getTime() + 60_000).toISOString();
    await place.tidemark([...words, '--now', later]);
    expect(server.received).toHaveLength(5);
    expect(new Set(server.received.map(({ mail }) => mail.messageId)).size).toBe(5);
  });

  test('does not send pending messages of others with --to', async () => {
    const server = await startMailServer();
    const place = await mailing(server.port, {}, await pendingRun());
    const { exit, stdout } = await place.tidemark(['mail', 'nightly', '--to', 'me@acme.example']);
    expect([exit, stdout]).toEqual([0, '1 of 1 digest sent\n']);
    expect(server.received.map(({ recipients }) => recipients)).toEqual([['me@acme.example']]);
  });

  test('sends pending messages with --pending, and exits 1 while some remain', async () => {
    const port = await freePort();
    const place = await mailing(port, {}, await pendingRun());
    expect((await place.tidemark(['mail', '--pending'])).exit).toBe(1);
    const server = await startMailServer({ port });
    const { exit, stdout } = await place.tidemark(['mail', '--pending', '--json']);
    expect([exit, JSON.parse(stdout)]).toMatchObject([
      0,
      [{ recipient: 'platform@acme.example', status: 'sent', reason: null }],
    ]);
    expect((await place.tidemark(['mail', '--pending'])).stdout).toBe('0 of 0 digests sent\n');
    expect(server.received).toHaveLength(1);
  });

  test.each([
    [['mail'], 2, 'give a job'],
    [['mail', 'nigtly'], 2, 'did you mean nightly?'],
    [['mail', 'nightly', '--to', 'a@x.example, b@x.example'], 2, '--to'],
    [['mail', 'nightly', '--pending', '--dry-run'], 2, '--pending cannot be combined'],
    [['mail', 'nightly', '--html', 'x.html'], 2, '--html requires --dry-run'],
    [['mail', 'nightly'], 3, 'there is no warehouse yet'],
  ] as const)('%j ends with %i', async (words, exit, what) => {
    const place = await mailing(1);
    const result = await place.tidemark([...words]);
    expect([result.exit, result.stderr]).toEqual([exit, expect.stringContaining(what)]);
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
        /nightly\.yaml:1: schedule: minute/u,
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
    const place = await mailing(server.port);
    const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000);
    const due = ago(1);
    const schedule = `${due.getUTCMinutes()} ${due.getUTCHours()} * * *`;
    await writeJob(place, { schedule, pull: ['workspaces'], reports: ['drift'], mail: MAIL });
    await writeJob(place, { pull: false }, 'weekly'); // replaces the job of the package
    await place.tidemark(['run', 'nightly', '--now', ago(5).toISOString()]);
    const stop = new AbortController();
    let stderr = '';
    const ended = cli(['schedule'], { cwd: place.folder, signal: stop.signal });
    while (server.received.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
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
    expect(stdout).toBe('2026-11-21T01:15:00.000Z  nightly (Europe/Berlin)\n2026-11-23T06:00:00.000Z  weekly (UTC)\n');
  });

  test('rejects a fixed time', async () => {
    const place = await mailing(1);
    expect((await place.tidemark(['schedule', '--now', '2026-11-20T12:00:00Z'])).exit).toBe(2);
  });
});
