import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../../src/core/redact/redactor.ts';

const SECRET = `s3cr&t/"+<tok'en>=%?ü`;

function masked(text: string, ...secrets: readonly string[]): string {
  const redactor = createRedactor();
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

  test('longest first, so that a secret that begins another leaves no rest', () => {
    expect(masked('token-1234-5678', 'token-1234', 'token-1234-5678')).toBe('***');
  });

  test('line by line in a key of several lines', () => {
    const pem = '-----BEGIN KEY-----\nMIGHAgEAMBMGByqGSM49AgEG\nCCqGSM49AwEHBG0wawIBAQQg\n-----END KEY-----\n';
    expect(masked(pem.replaceAll('\n', ' '), pem)).not.toMatch(/MIGH|CCqG/u);
    expect(masked('at CCqGSM49AwEHBG0wawIBAQQg it broke', pem)).toBe('at *** it broke');
  });
});

test('values too short to be secrets are not masked', () => {
  expect(masked('the abc of it', 'abc')).toBe('the abc of it');
});
