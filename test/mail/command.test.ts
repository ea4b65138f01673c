import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { describe, expect, test } from 'vitest';
import { startMailServer } from '../helpers/mail-server.ts';
import { testProject } from '../helpers/test-project.ts';
import { mailing, pendingRun, quietRun, SIZE, writeJob } from './mail-project.ts';

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
    const to = ['a_b@acme.example', 'a/b@acme.example'].flatMap((address) => ['--to', address]);
    const { files } = (await place.tidemark(['mail', 'nightly', '--dry-run', '--json', ...to])).json<{
      files: string[];
    }>();
    const recipients = await Promise.all(
      files.map(async (path) => (await PostalMime.parse(await readFile(path))).to?.[0]),
    );
    expect(recipients.map((one) => one?.address)).toEqual(['a_b@acme.example', 'a/b@acme.example']);
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

  test('a digest that is requested again replaces the one that waits', async () => {
    let accepts = false;
    const server = await startMailServer({ rejectData: () => (accepts ? undefined : 451) });
    const place = await mailing(server.port, {}, await pendingRun());
    const ask = (seconds: number, ...more: readonly string[]) => {
      const now = new Date(place.sandbox.now.getTime() + seconds * 1000).toISOString();
      return place.tidemark(['mail', 'nightly', '--now', now, ...more]);
    };
    await ask(1, '--to', 'platform@acme.example');
    await ask(2, '--to', 'platform@acme.example');
    await ask(3);
    accepts = true;
    expect((await place.tidemark(['mail', '--pending'])).stdout).toBe('1 of 1 digest sent\n');
  });

  test('does not send pending messages of others with --to', async () => {
    const server = await startMailServer();
    const place = await mailing(server.port, {}, await pendingRun());
    const { exit, stdout } = await place.tidemark(['mail', 'nightly', '--to', 'me@acme.example']);
    expect([exit, stdout]).toEqual([0, '1 of 1 digest sent\n']);
    expect(server.received.map(({ recipients }) => recipients)).toEqual([['me@acme.example']]);
  });

  test('sends pending messages with --pending, and exits 1 while some remain', async () => {
    let accepts = false;
    const server = await startMailServer({ rejectData: () => (accepts ? undefined : 451) });
    const place = await mailing(server.port, {}, await pendingRun());
    expect((await place.tidemark(['mail', '--pending'])).exit).toBe(1);
    accepts = true;
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
    [['mail', '--pending'], 3, 'there is no warehouse yet'],
    [['playbook', 'ledger', '--settle'], 3, 'there is no warehouse yet'],
  ] as const)('%j ends with %i, and makes no warehouse', async (words, exit, what) => {
    const place = await mailing(1);
    const result = await place.tidemark([...words]);
    expect([result.exit, result.stderr]).toEqual([exit, expect.stringContaining(what)]);
    expect(existsSync(join(place.folder, 'data', 'warehouse.duckdb'))).toBe(false);
  });
});
