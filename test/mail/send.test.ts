import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import type { Message } from '../../src/tell/mail/message.ts';
import { listPending, markSending, sendFromOutbox, writeOutbox } from '../../src/tell/mail/send.ts';
import type { MailTimeouts } from '../../src/tell/mail/transport.ts';
import { LockError } from '../../src/warehouse/lock.ts';
import { withPublished, withWarehouse } from '../../src/warehouse/session.ts';
import type { Row } from '../../src/warehouse/values.ts';
import { CLOSED_PORT, type MailServer, startMailServer } from '../helpers/mail-server.ts';
import { mailConfig, mailContext, publishEmptyWarehouse } from '../helpers/mail-warehouse.ts';
import { QUIET } from '../helpers/report-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const NOW = '2026-11-20T02:15:00Z';
const TIMEOUTS = { connectMs: 300_000, idleMs: 300_000, messageMs: 300_000 };

function message(recipient: string, more: Partial<Message> = {}): Message {
  return {
    messageId: `<tidemark.${recipient.replaceAll(/[^a-z]/gu, '')}@acme.example>`,
    job: 'nightly',
    runId: '20261120T021500Z',
    targets: 'acme',
    composedAt: NOW,
    to: { name: '', address: recipient },
    subject: 'Tidemark acme: 14 drifting (+3 −1), 2 pools down',
    html: '<p>14 drifting — ünïcode</p>',
    text: '14 drifting — ünïcode\n',
    attachments: [{ name: 'findings.csv', type: 'text/csv; charset=utf-8', text: 'state,title\r\nopen,é\r\n' }],
    pages: [],
    ...more,
  };
}

interface Outbox {
  readonly config: Config;
  readonly server: MailServer;
  write(...messages: readonly Message[]): Promise<void>;
  send(now?: string, timeouts?: MailTimeouts): ReturnType<typeof sendFromOutbox>;
  rows(): Promise<Row[]>;
  readonly lines: readonly string[];
}

async function outboxWith(
  options: Parameters<typeof startMailServer>[0] & { readonly smtp?: string } = {},
): Promise<Outbox> {
  const server = await startMailServer(options);
  const smtp = (options.smtp ?? 'smtp://127.0.0.1:PORT').replace('PORT', String(server.port));
  const config = mailConfig(await tempFolder(), {
    mail: { smtp, from: 'Tidemark, nightly <reports@acme.example>'.replace(',', '') },
  });
  await publishEmptyWarehouse(config);
  const context = mailContext(NOW);
  const session = { config, purpose: 'test', now: new Date(NOW), log: QUIET };
  return {
    config,
    server,
    lines: context.lines,
    write: (...messages) => withWarehouse(session, (warehouse) => writeOutbox(warehouse, messages)),
    send: (now = NOW, timeouts = TIMEOUTS) =>
      withWarehouse(session, (warehouse) =>
        sendFromOutbox(warehouse, { config, context: { ...context, clock: mailContext(now).clock }, timeouts }),
      ),
    rows: () =>
      withPublished(config, ({ database }) =>
        database.rows(
          `select recipient, status, attempts, reason, sent_at, content is null as emptied from outbox order by recipient`,
        ),
      ),
  };
}

describe('a sent digest', () => {
  test('has text and HTML alternatives, the CSV attached, and the headers of automatic mail', async () => {
    const { write, send, server } = await outboxWith();
    await write(message('team@acme.example'));
    await send();
    const [received] = server.received;
    const { mail, raw } = received!;
    expect(received).toMatchObject({ sender: 'reports@acme.example', recipients: ['team@acme.example'] });
    expect(mail.subject).toBe('Tidemark acme: 14 drifting (+3 −1), 2 pools down');
    expect(mail.from).toMatchObject({ name: 'Tidemark nightly', address: 'reports@acme.example' });
    expect(mail.html?.trim()).toBe('<p>14 drifting — ünïcode</p>');
    expect(mail.text?.trim()).toBe('14 drifting — ünïcode');
    expect(mail.attachments.map(({ filename, mimeType }) => [filename, mimeType])).toEqual([
      ['findings.csv', 'text/csv'],
    ]);
    expect(new TextDecoder().decode(mail.attachments[0]?.content as ArrayBuffer)).toBe('state,title\r\nopen,é\r\n');
    expect(mail.messageId).toBe('<tidemark.teamacmeexample@acme.example>');
    expect(mail.date).toBe('2026-11-20T02:15:00.000Z');
    const header = (key: string) => mail.headers.find((one) => one.key === key)?.value;
    expect(header('auto-submitted')).toBe('auto-generated');
    expect(header('list-id')).toBe('"Tidemark nightly" <nightly.tidemark.acme.example>');
    expect(raw).toMatch(/^Content-Type: multipart\/mixed/mu);
    expect(raw).toMatch(/^Content-Type: multipart\/alternative/mu);
    expect(Math.max(...raw.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998); // RFC 5322, 2.1.1
  });

  test('has no header or recipient that comes from a subject or a name, and ASCII headers for any name of the job', async () => {
    const { write, send, server } = await outboxWith();
    const to = { name: 'Team <x@evil.example>, "y"\r\nBcc: z@evil.example', address: 'team@acme.example' };
    const subject = 'hi\r\nBcc: evil@x.example\r\n\r\nbody';
    await write(message('team@acme.example', { to, subject, job: 'näch tly <b>' }));
    await send();
    const { mail, recipients, raw } = server.received[0]!;
    expect(recipients).toEqual(['team@acme.example']);
    expect(mail.headers.map(({ key }) => key)).not.toContain('bcc');
    expect(mail.to).toHaveLength(1);
    expect(mail.to?.[0]?.address).toBe('team@acme.example');
    const [headers = ''] = raw.split('\r\n\r\n');
    expect(headers).toContain('<n-ch-tly-b.tidemark.acme.example>');
    expect(headers).toMatch(/^[\t\r\n -~]*$/u);
  });

  test('has the pages of its day attached, as far as they exist', async () => {
    const { write, send, server, config } = await outboxWith();
    await mkdir(join(config.output, 'archive', '2026-11-20'), { recursive: true });
    await writeFile(join(config.output, 'archive', '2026-11-20', 'drift.html'), '<!doctype html>drift');
    const pages = ['drift', 'absent'].map((name) => ({ name, date: '2026-11-20' }));
    await write(message('team@acme.example', { pages }));
    await send();
    expect(server.received[0]?.mail.attachments.map(({ filename }) => filename)).toEqual([
      'findings.csv',
      'drift.html',
    ]);
  });
});

describe('the outbox', () => {
  test('marks a sent message, removes its content, and does not send it again', async () => {
    const { write, send, server, rows } = await outboxWith();
    await write(message('a@acme.example'), message('b@acme.example'));
    expect((await send()).map(({ status }) => status)).toEqual(['sent', 'sent']);
    expect(await send()).toEqual([]);
    await write(message('a@acme.example'));
    expect(await send()).toEqual([]);
    expect(server.received).toHaveLength(2);
    expect(await rows()).toMatchObject([
      {
        recipient: 'a@acme.example',
        status: 'sent',
        attempts: 1,
        reason: null,
        sent_at: '2026-11-20T02:15:00Z',
        emptied: true,
      },
      { recipient: 'b@acme.example', status: 'sent', attempts: 1, emptied: true },
    ]);
  });

  test('marks a recipient that the server rejects as refused, and sends to the others', async () => {
    const { write, send, server, rows, lines } = await outboxWith({
      reject: (recipient) => (recipient.startsWith('b@') ? 550 : undefined),
    });
    await write(message('a@acme.example'), message('b@acme.example'), message('c@acme.example'));
    expect((await send()).map(({ status }) => status)).toEqual(['sent', 'refused', 'sent']);
    expect(server.received.map(({ recipients }) => recipients[0])).toEqual(['a@acme.example', 'c@acme.example']);
    expect((await rows())[1]).toMatchObject({ status: 'refused', attempts: 1, reason: expect.stringContaining('550') });
    expect(lines).toContainEqual(expect.stringMatching(/^warning: mail to b@acme\.example: refused: .*550/u));
    expect(await send()).toEqual([]);
  });

  test('keeps a message pending where the server rejects the sender: it wants a login, or does not relay', async () => {
    const answers: Readonly<Record<string, string>> = {
      'a@acme.example': '554 5.7.1 Relay access denied',
      'b@acme.example': '530 Authentication required',
      'c@acme.example': '550 5.1.1 User unknown',
    };
    const { write, send } = await outboxWith({ reject: (recipient) => answers[recipient] });
    await write(...Object.keys(answers).map((to) => message(to)));
    expect((await send()).map(({ status }) => status)).toEqual(['pending', 'pending', 'refused']);
    const strict = await outboxWith({ rejectSender: 550 });
    await strict.write(message('a@acme.example'));
    expect((await strict.send()).map(({ status }) => status)).toEqual(['pending']);
  });

  test('replaces what waits of an interrupted run by a later digest of the same job, and of no other', async () => {
    const { config, write } = await outboxWith();
    const session = { config, purpose: 'test', now: new Date(NOW), log: QUIET };
    await withWarehouse(session, ({ database }) =>
      database.run("insert into runs (run_id, status, started_at) values ('cut', 'interrupted', $NOW::timestamptz)", {
        NOW,
      }),
    );
    const jobs = ['nightly', 'hourly'].map((job) => message('a@acme.example', { messageId: job, job, runId: 'cut' }));
    await write(...jobs, message('a@acme.example'));
    const waiting = await withPublished(config, (published) => listPending(published, null));
    expect(waiting.map(({ message_id }) => message_id)).toEqual(['hourly', '<tidemark.aacmeexample@acme.example>']);
  });

  test('keeps a message pending whose page cannot be read, and sends the others', async () => {
    const { write, send, server, config } = await outboxWith();
    await mkdir(join(config.output, 'archive', '2026-11-20', 'drift.html'), { recursive: true });
    await write(
      message('a@acme.example', { pages: [{ name: 'drift', date: '2026-11-20' }] }),
      message('b@acme.example'),
    );
    expect(await send()).toMatchObject([
      { status: 'pending', reason: expect.stringContaining('EISDIR') },
      { status: 'sent' },
    ]);
    expect(server.received.map(({ recipients }) => recipients[0])).toEqual(['b@acme.example']);
  });

  test('keeps a message pending that the server rejects temporarily, and sends it the next time', async () => {
    let full = true;
    const { write, send, server, rows } = await outboxWith({ reject: () => (full ? 450 : undefined) });
    await write(message('a@acme.example'));
    expect((await send())[0]).toMatchObject({ status: 'pending', reason: expect.stringContaining('450') });
    full = false;
    expect((await send())[0]?.status).toBe('sent');
    expect(server.received).toHaveLength(1);
    expect((await rows())[0]).toMatchObject({ status: 'sent', attempts: 2 });
  });

  test('tries the other messages if the server rejects the content of one', async () => {
    let first = true;
    const { write, send, server } = await outboxWith({
      rejectData: () => {
        const code = first ? 451 : undefined;
        first = false;
        return code;
      },
    });
    await write(message('a@acme.example'), message('b@acme.example'));
    expect((await send()).map(({ status }) => status)).toEqual(['pending', 'sent']);
    await send();
    expect(server.received.map(({ recipients }) => recipients[0])).toEqual(['b@acme.example', 'a@acme.example']);
  });

  test('repeats a message with the same Message-ID if the connection breaks after its delivery', async () => {
    let dropped = false;
    const { write, send, server, rows } = await outboxWith({
      drop: () => {
        const now = !dropped;
        dropped = true;
        return now;
      },
    });
    await write(message('a@acme.example'), message('b@acme.example'));
    expect((await send()).map(({ recipient, status }) => [recipient, status])).toEqual([
      ['a@acme.example', 'pending'],
      ['b@acme.example', 'sent'],
    ]);
    await send();
    const ofA = server.received.filter(({ recipients }) => recipients[0] === 'a@acme.example');
    expect(ofA).toHaveLength(2);
    expect(ofA[0]?.mail.messageId).toBe(ofA[1]?.mail.messageId);
    expect(ofA[0]?.raw.split('\r\n\r\n').slice(1)).toEqual(ofA[1]?.raw.split('\r\n\r\n').slice(1));
    expect((await rows()).map(({ status, attempts }) => [status, attempts])).toEqual([
      ['sent', 2],
      ['sent', 1],
    ]);
  });

  test('sends to the others first the next time, if two messages break the connection each time', async () => {
    const broken = ['a@acme.example', 'b@acme.example'];
    const { write, send, server, rows } = await outboxWith({
      drop: () => broken.includes(server.received.at(-1)?.recipients[0] ?? ''),
    });
    await write(...[...broken, 'c@acme.example', 'd@acme.example'].map((to) => message(to)));
    expect((await send()).map(({ status }) => status)).toEqual(Array(4).fill('pending'));
    const runId = '20261121T021500Z';
    await write(
      message('a@acme.example', { messageId: '<next@acme.example>', runId, composedAt: '2026-11-21T02:15:00Z' }),
    );
    expect((await send()).map(({ recipient, status }) => `${recipient} ${status}`)).toEqual([
      'c@acme.example sent',
      'd@acme.example sent',
      ...['a', 'b', 'a'].map((name) => `${name}@acme.example pending`),
    ]);
    expect((await rows()).map(({ attempts }) => attempts)).toEqual([2, 0, 2, 1, 1]);
  });

  test('counts two failures in a row: a message that is sent between them shows that the server is there', async () => {
    const { write, send, server } = await outboxWith({
      drop: () => /^[ac]@/u.test(server.received.at(-1)?.recipients[0] ?? ''),
    });
    await write(...['a', 'b', 'c', 'd'].map((name) => message(`${name}@acme.example`)));
    expect((await send()).map(({ status }) => status)).toEqual(['pending', 'sent', 'pending', 'sent']);
  });

  test('sends nothing once the lock of the warehouse is lost: another process may be sending it', async () => {
    const { write, server, config } = await outboxWith();
    await write(message('a@acme.example'));
    const session = { config, purpose: 'test', now: new Date(NOW), log: QUIET };
    const sending = withWarehouse(session, (warehouse) => {
      const assertHeld = () => {
        throw new LockError('INCOMPLETE', 'the lock was lost');
      };
      return sendFromOutbox({ ...warehouse, assertHeld }, { config, context: mailContext(NOW) });
    });
    await expect(sending).rejects.toThrow('the lock was lost');
    expect(server.received).toEqual([]);
  });

  test('keeps a message pending, with a reason, if the process ends while it sends', async () => {
    const { write, send, server, rows, config } = await outboxWith();
    await write(message('a@acme.example'));
    await withWarehouse({ config, purpose: 'test', now: new Date(NOW), log: QUIET }, (warehouse) =>
      markSending(warehouse, message('a@acme.example').messageId, new Date(NOW)),
    );
    expect((await rows())[0]).toMatchObject({
      status: 'pending',
      attempts: 1,
      reason: 'interrupted while it was sent',
      emptied: false,
    });
    await send();
    expect(server.received).toHaveLength(1);
    expect((await rows())[0]).toMatchObject({ status: 'sent', attempts: 2 });
  });

  test('keeps all messages pending after two failures to reach the server', async () => {
    const smtp = `smtp://127.0.0.1:${CLOSED_PORT}`;
    const { write, send, rows } = await outboxWith({ smtp });
    await write(...['a', 'b', 'c', 'd'].map((name) => message(`${name}@acme.example`)));
    const ends = await send();
    expect(ends.map(({ status }) => status)).toEqual(['pending', 'pending', 'pending', 'pending']);
    expect(ends[3]?.reason).toContain('ECONNREFUSED');
    expect((await rows()).map(({ attempts, emptied }) => [attempts, emptied])).toEqual([
      [1, false],
      [1, false],
      [0, false],
      [0, false],
    ]);
  });

  test('says of which run each digest is that could not be sent, and once what sends it', async () => {
    const { write, send, lines } = await outboxWith({ smtp: `smtp://127.0.0.1:${CLOSED_PORT}` });
    const later = { messageId: '<later@acme.example>', runId: '20261121T021500Z', composedAt: '2026-11-21T02:15:00Z' };
    await write(message('a@acme.example'), message('a@acme.example', later));
    await send('2026-11-21T02:15:00Z');
    const pending = 'warning: mail to a@acme\\.example: pending: .*ECONNREFUSED.* \\(digest of run';
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^${pending} 20261120T021500Z\\)$`, 'u')),
      expect.stringMatching(new RegExp(`^${pending} 20261121T021500Z\\)$`, 'u')),
      'warning: mail that is pending is sent by the next run of a job, or by `tidemark mail --pending`',
    ]);
  });

  test('does not wait for ever for a server that answers a little at a time', async () => {
    const trickling = createServer((socket) => {
      socket.write('220 hello\r\n');
      const timer = setInterval(() => socket.write('250-x\r\n'), 20);
      socket.on('error', () => {}).on('close', () => clearInterval(timer));
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void trickling.close());
    await once(trickling, 'listening');
    const smtp = `smtp://127.0.0.1:${(trickling.address() as AddressInfo).port}`;
    const { write, send, rows } = await outboxWith({ smtp });
    await write(message('a@acme.example'));
    const [end] = await send(NOW, { ...TIMEOUTS, messageMs: 500 });
    expect(end).toMatchObject({ status: 'pending', reason: 'the server did not take it within 0.5 s' });
    expect((await rows())[0]).toMatchObject({ status: 'pending', attempts: 1, emptied: false });
  });

  test('refuses messages of more than a week ago also where the server is away: the outbox would keep all mail', async () => {
    const { write, send, rows } = await outboxWith({ smtp: `smtp://127.0.0.1:${CLOSED_PORT}` });
    await write(message('y@acme.example'), message('z@acme.example'));
    await send();
    const composedAt = '2026-11-28T02:15:00Z';
    await write(...['a', 'b', 'c'].map((name) => message(`${name}@acme.example`, { composedAt })));
    await send(composedAt);
    expect((await rows()).map(({ status, attempts, emptied }) => [status, attempts, emptied])).toEqual([
      ...[1, 1, 0].map((attempts) => ['pending', attempts, false]),
      ...[1, 1].map((attempts) => ['refused', attempts, true]),
    ]);
    expect((await rows())[2]?.reason).toContain('ECONNREFUSED');
  });

  test('lists what waits without its content, which of all messages could be more than the memory', async () => {
    const { write, config } = await outboxWith();
    await write(message('a@acme.example'));
    const pending = await withPublished(config, (published) => listPending(published, null));
    expect(pending).toEqual([
      {
        message_id: '<tidemark.aacmeexample@acme.example>',
        run_id: '20261120T021500Z',
        recipient: 'a@acme.example',
        subject: 'Tidemark acme: 14 drifting (+3 −1), 2 pools down',
        created_at: expect.stringContaining('2026-11-20'),
      },
    ]);
  });

  test('refuses messages that could not be sent within a week', async () => {
    const { write, send, server, rows } = await outboxWith();
    await write(message('a@acme.example'));
    expect((await send('2026-11-27T02:16:00Z'))[0]).toMatchObject({
      status: 'refused',
      reason: 'not sent within 7 days',
    });
    expect(server.received).toEqual([]);
    expect((await rows())[0]).toMatchObject({ status: 'refused', emptied: true });
  });
});

describe('the password', () => {
  const PASSWORD = 'pa$$-w0rd%!';
  const login = { user: 'reports', password: PASSWORD };
  const smtp = (password: string) => `smtp://reports:${encodeURIComponent(password)}@127.0.0.1:PORT`;

  test('is used over STARTTLS where the server offers it', async () => {
    const { write, send, server } = await outboxWith({ login, tls: true, smtp: smtp(PASSWORD) });
    await write(message('a@acme.example'));
    await send();
    expect(server.received[0]).toMatchObject({ user: 'reports', secure: true });
  });

  test('keeps messages pending if it is wrong, and appears in no log line, reason or file', async () => {
    const { write, send, rows, lines, config } = await outboxWith({ login, smtp: smtp('wr0ng-secret') });
    await write(message('a@acme.example'));
    expect((await send())[0]).toMatchObject({ status: 'pending', reason: expect.stringContaining('535') });
    const files = (readdirSync(config.data, { recursive: true }) as string[])
      .map((name) => join(config.data, name))
      .filter((path) => existsSync(path) && /duckdb/u.test(path))
      .map((path) => readFileSync(path, 'latin1'));
    expect(files.length).toBeGreaterThan(0);
    const output = `${JSON.stringify(await rows())}${lines.join('\n')}${files.join('')}`;
    for (const form of ['wr0ng-secret', Buffer.from('wr0ng-secret').toString('base64').slice(0, 14)]) {
      expect(output).not.toContain(form);
    }
  });
});
