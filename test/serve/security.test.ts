import { createServer, type IncomingMessage, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AccessRules, checkAccess, isOwnRequest, securityHeaders } from '../../src/ask/serve/security.ts';

const TOKEN = 'correct-horse-battery-staple';
let rules: AccessRules = { hosts: [], token: undefined };

const server = createServer((request, response) => {
  const refusal = checkAccess(request, rules);
  response.writeHead(refusal?.status ?? 200, { ...refusal?.headers }).end(refusal?.message ?? 'answered');
});
let port: number;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());

/** The status of a request with these headers. */
async function ask(headers: Record<string, string>, method = 'GET', given: Partial<AccessRules> = {}) {
  rules = { hosts: [], token: undefined, ...given };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sendRequest({ port, host: '127.0.0.1', method, headers }, resolve).on('error', reject).end();
  });
  response.resume();
  return response;
}
const status = async (...args: Parameters<typeof ask>) => (await ask(...args)).statusCode;

test.each(['127.0.0.1', '127.0.0.1:8420', 'localhost', 'LOCALHOST:8420', '[::1]:8420', '192.168.7.1'])(
  'Host: %s is answered',
  async (host) => {
    expect(await status({ host })).toBe(200);
  },
);

test.each(['evil.example', 'evil.example:8420', '127.0.0.1.evil.example', 'localhost.evil.example', 'evil@127.0.0.1'])(
  'Host: %s may point here by an attacker’s DNS, and is refused',
  async (host) => {
    expect(await status({ host })).toBe(421);
  },
);

test('a name of --allow-host is answered, and no name that only contains it', async () => {
  const given = { hosts: ['tidemark.internal'] };
  expect(await status({ host: 'Tidemark.Internal:443' }, 'GET', given)).toBe(200);
  expect(await status({ host: 'x.tidemark.internal' }, 'GET', given)).toBe(421);
});

test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
  '%s is refused, and the answer names what is allowed',
  async (method) => {
    const { statusCode, headers } = await ask({ host: 'localhost' }, method);
    expect([statusCode, headers.allow]).toEqual([405, 'GET, HEAD']);
  },
);

test.each([
  ['same-origin', 'cors', 'empty', 200],
  ['none', 'navigate', 'document', 200],
  ['cross-site', 'navigate', 'document', 200],
  ['cross-site', 'navigate', 'iframe', 403],
  ['cross-site', 'no-cors', 'image', 403],
  ['cross-site', 'no-cors', 'script', 403],
  ['cross-site', 'cors', 'empty', 403],
  ['same-site', 'cors', 'empty', 403],
])('a request of a page that is %s, %s, for %s has status %d', async (site, mode, dest, expected) => {
  const headers = { host: 'localhost', 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest };
  expect(await status(headers)).toBe(expected);
});

test.each([
  [{ 'sec-fetch-site': 'same-origin' }, true],
  [{ 'sec-fetch-site': 'none' }, false],
  [{ 'sec-fetch-site': 'cross-site' }, false],
  [{ 'sec-fetch-site': 'same-site', referer: 'http://tidemark.internal:8420/sql' }, false],
  [{ referer: 'http://tidemark.internal:8420/sql' }, true],
  [{ referer: 'http://evil.example/tidemark.internal:8420' }, false],
  [{ referer: 'tidemark.internal:8420' }, false],
  [{}, false],
])('a request with %j is of a page of this server: %s', (headers, expected) => {
  const request = { headers: { host: 'tidemark.internal:8420', ...headers } } as unknown as IncomingMessage;
  expect(isOwnRequest(request)).toBe(expected);
});

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

test.each([
  [`Bearer ${TOKEN}`, 200],
  [`bearer ${TOKEN}`, 200],
  [basic(`reader:${TOKEN}`), 200],
  [basic(`:${TOKEN}`), 200],
  [`Bearer ${TOKEN}x`, 401],
  [`Bearer ${TOKEN.slice(1)}`, 401],
  ['Bearer', 401],
  [basic(TOKEN.slice(1)), 401],
  [`Digest ${TOKEN}`, 401],
  ['', 401],
])('with a token, `Authorization: %s` has status %d', async (authorization, expected) => {
  expect(await status({ host: 'localhost', authorization }, 'GET', { token: TOKEN })).toBe(expected);
});

test('without a token, a browser is asked for one; a foreign name is not', async () => {
  const { headers } = await ask({ host: 'localhost' }, 'GET', { token: TOKEN });
  expect(headers['www-authenticate']).toMatch(/^Basic realm="tidemark"/u);
  const foreign = await ask({ host: 'evil.example' }, 'GET', { token: TOKEN });
  expect([foreign.statusCode, foreign.headers['www-authenticate']]).toEqual([421, undefined]);
});

test('the policy runs no script without the nonce, loads nothing from outside, and allows no frame', () => {
  const policy = securityHeaders('abc')['content-security-policy'] ?? '';
  expect(policy.split('; ')).toEqual(
    expect.arrayContaining([
      `default-src 'none'`,
      `script-src 'nonce-abc'`,
      `base-uri 'none'`,
      `frame-ancestors 'none'`,
    ]),
  );
  expect(policy).not.toMatch(/unsafe|https?:|\*/u);
});
