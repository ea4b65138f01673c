import { describe, expect, test } from 'vitest';
import { parseSmtpUrl } from '../../src/config/mail.ts';
import { openTransport, type TransportOptions } from '../../src/tell/mail/transport.ts';
import { startMailServer, TEST_CA } from '../helpers/mail-server.ts';

const MAIL = { from: 'a@acme.example', to: 'b@acme.example', text: 'hello' };
const never = () => false;

async function send(port: number, options: Partial<TransportOptions> & { readonly url?: string } = {}) {
  const { url = 'smtp://127.0.0.1:PORT', ...more } = options;
  const server = parseSmtpUrl(url.replace('PORT', String(port)))!;
  const transport = openTransport({ server, timeouts: { connectMs: 300_000, idleMs: 300_000 }, ...more });
  return transport.sendMail(MAIL);
}

describe('a remote server', () => {
  test('receives nothing without TLS', async () => {
    const server = await startMailServer();
    await expect(send(server.port, { isLocal: never })).rejects.toMatchObject({ code: 'ETLS' });
    expect(server.received).toEqual([]);
  });

  test('receives nothing if its certificate is not trusted', async () => {
    const server = await startMailServer({ tls: true });
    await expect(send(server.port, { isLocal: never })).rejects.toThrow(/self.signed|unable to (?:verify|get)/iu);
    expect(server.received).toEqual([]);
  });

  test('receives nothing if its certificate is for another name', async () => {
    const server = await startMailServer({ tls: true, host: '127.0.0.2' });
    await expect(send(server.port, { isLocal: never, caFile: TEST_CA, url: 'smtp://127.0.0.2:PORT' })).rejects.toThrow(
      /altnames/iu,
    );
    expect(server.received).toEqual([]);
  });

  test('receives mail over TLS if its certificate is trusted', async () => {
    const server = await startMailServer({ tls: true });
    await send(server.port, { isLocal: never, caFile: TEST_CA });
    expect(server.received[0]?.secure).toBe(true);
  });
});

describe('a server on loopback', () => {
  test('needs no TLS', async () => {
    const server = await startMailServer();
    await send(server.port);
    expect(server.received[0]?.secure).toBe(false);
  });

  test('is used with STARTTLS where it offers it, with any certificate', async () => {
    const server = await startMailServer({ tls: true });
    await send(server.port);
    expect(server.received[0]?.secure).toBe(true);
  });
});

test.each([
  [
    'smtp://reports:p%40ss@mail.internal:2525',
    { host: 'mail.internal', port: 2525, secure: false, user: 'reports', password: 'p@ss' },
  ],
  ['smtp://mail.internal', { host: 'mail.internal', port: 587, secure: false, user: '', password: '' }],
  ['smtps://u:100%@mail.internal', { host: 'mail.internal', port: 465, secure: true, user: 'u', password: '100%' }],
  ['smtp://[::1]:25', { host: '::1', port: 25, secure: false, user: '', password: '' }],
  ['http://mail.internal', undefined],
  ['smtp://u:a/b@mail.internal', undefined],
  ['mail.internal:25', undefined],
])('parses %s', (url, server) => {
  expect(parseSmtpUrl(url)).toEqual(server);
});
