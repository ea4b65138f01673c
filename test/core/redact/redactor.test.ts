import { describe, expect, test } from 'vitest';
import { Redactor } from '../../../src/core/redact/redactor.ts';

const SECRET = `s3cr&t/"+<tok'en>=%?ü`;

const asLatin1 = (text: string) => Buffer.from(text).toString('latin1');

function masked(text: string, ...secrets: readonly string[]): string {
  const redactor = new Redactor();
  for (const secret of secrets) redactor.add(secret);
  return redactor.text(text);
}

describe('a known secret is masked', () => {
  test.each([
    ['as it is', SECRET],
    ['in a URL', encodeURIComponent(SECRET)],
    ['in a URL with small hex digits', encodeURIComponent(SECRET).replaceAll(/%../gu, (code) => code.toLowerCase())],
    ['in a form', new URLSearchParams({ a: SECRET }).toString().slice(2)],
    ['in JSON', JSON.stringify(SECRET).slice(1, -1)],
    [
      'in HTML',
      SECRET.replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&#39;'),
    ],
    ['in hex', Buffer.from(SECRET).toString('hex')],
    ['in base64', Buffer.from(SECRET).toString('base64').replaceAll('=', '')],
    ['in base64url', Buffer.from(SECRET).toString('base64url')],
    ['as UTF-8 that is read as Latin-1', asLatin1(SECRET)],
    ['as Latin-1 that is read as UTF-8', Buffer.from(SECRET, 'latin1').toString()],
  ])('%s', (_form, text) => {
    expect(masked(`before ${text} after`, SECRET)).not.toContain(text);
    expect(masked(`before ${text} after`, SECRET)).toMatch(/^before .*\*\*\*.* after$/u);
  });

  test.each(['', 'u', 'us', 'use', 'user:', '\u0000user\u0000'])('in base64 after %j', (before) => {
    const text = Buffer.from(`${before}${SECRET}`).toString('base64');
    const clean = masked(text, SECRET);
    const left = Buffer.from(clean.replaceAll('***', ''), 'base64').toString('latin1');
    expect(clean).toContain('***');
    expect(left.includes(SECRET.slice(2, 8))).toBe(false);
  });

  test('and what only resembles it, among escapes, is left as it is', () => {
    const text = JSON.stringify(`"${asLatin1(asLatin1('pässwörd'))}"`);
    expect(masked(text, 'pässwörd')).toBe(text);
    expect(masked(`${text} p%C3%A4ssw%C3%B6rd`, 'pässwörd')).toBe(`${text} ***`);
  });

  test('longest first, so that a secret that begins another leaves no rest', () => {
    expect(masked('token-1234-5678', 'token-1234', 'token-1234-5678')).toBe('***');
  });

  test('line by line in a key of several lines', () => {
    const pem = '-----BEGIN KEY-----\nMIGHAgEAMBMGByqGSM49AgEG\nCCqGSM49AwEHBG0wawIBAQQg\n-----END KEY-----\n';
    expect(masked(pem.replaceAll('\n', ' '), pem)).not.toMatch(/MIGH|CCqG/u);
    expect(masked('at CCqGSM49AwEHBG0wawIBAQQg it broke', pem)).toBe('at *** it broke');
  });
});

test('a secret in percent signs is masked beside bytes that are no UTF-8', () => {
  const escaped = (text: string) => [...Buffer.from(text, 'latin1')].map((byte) => `%${byte.toString(16)}`).join('');
  expect(masked(`a?b=${escaped('\u00ff\u00fesecret-of-a-query\u00ff')}`, 'secret-of-a-query')).toBe('a?b=***');
});

test('values too short to be secrets are not masked', () => {
  expect(masked('the abc of it', 'abc')).toBe('the abc of it');
});

describe('a weak secret is masked only as a whole value', () => {
  test.each([
    ['a column or table of Tidemark', 'ca_roots: 3 rows', 'ca_roots: 3 rows', 'root'],
    ['the name of a JSON field', '{"keys":{"a":1}}', '{"keys":{"a":1}}', 'keys'],
    ['a part of a value', '{"path":"rootfs"}', '{"path":"rootfs"}', 'root'],
    [
      'a table name as long as a secret',
      'vault: key_distributions: failed',
      'vault: key_distributions: failed',
      'key_distributions',
    ],
    ['a part of a table name', 'external_volumes: 3 rows', 'external_volumes: 3 rows', 'external_vol'],
    ['a JSON value', '{"SecretID":"root"}', '{"SecretID":"***"}', 'root'],
    [
      'an escaped JSON value',
      '{"error":"token \\"root\\" is unknown"}',
      '{"error":"token \\"***\\" is unknown"}',
      'root',
    ],
    ['a cell of CSV', 'a,root,b\nroot,"root",c', 'a,***,b\n***,"***",c', 'root'],
    ['a query and a header', '?token=root&a=1 Bearer root', '?token=***&a=1 Bearer ***', 'root'],
    ['the whole text', 'root', '***', 'root'],
  ])('%s', (_where, text, expected, secret) => {
    expect(masked(text, secret)).toBe(expected);
  });

  test('beside a strong one, which is masked everywhere', () => {
    expect(masked('ca_roots of xk29fj4s0z, "root"', 'root', 'xk29fj4s0z')).toBe('ca_roots of ***, "***"');
  });

  test('bytes that contain it are found, so that a downloaded file is masked', () => {
    const redactor = new Redactor();
    redactor.add('root');
    expect(redactor.matches(Buffer.from('a,root\n'))).toBe(true);
    expect(redactor.matches(Buffer.from('a,b\n'))).toBe(false);
  });
});

describe('a secret that is learned from a response', () => {
  test('is masked in messages, and not in rows', () => {
    const redactor = new Redactor();
    redactor.add('token-of-the-user');
    redactor.learn('payments-database');
    expect(redactor.text('payments-database token-of-the-user')).toBe('*** ***');
    expect(redactor.row('payments-database token-of-the-user')).toBe('payments-database ***');
    expect(redactor.matches(Buffer.from('payments-database'))).toBe(false);
    expect(redactor.snapshot().text('payments-database')).toBe('***');
  });

  test('is forgotten after many others, so that a process of months does not search for all of them', () => {
    const redactor = new Redactor();
    const name = (number: number) => `key-of-night-${number}-`;
    for (let number = 0; number < 10_000; number++) redactor.learn(name(number));
    expect(redactor.text(name(0))).toBe(name(0));
    expect(redactor.text(`${name(9999)} ${name(6000)}`)).toBe('*** ***');
  });
});
