import { describe, expect, test } from 'vitest';
import { parseMailAddress, sanitizeHeader } from '../../src/config/mail.ts';

describe('an address', () => {
  test.each([
    ['team@acme.example', { name: '', address: 'team@acme.example' }],
    ['  Team A <team-a+x@acme.example> ', { name: 'Team A', address: 'team-a+x@acme.example' }],
    ['"Team A" <a@localhost>', { name: 'Team A', address: 'a@localhost' }],
    ['"Team, A <B>" <a@x.example>', { name: 'Team, A <B>', address: 'a@x.example' }],
    ['Büro <büro@münchen.example>', { name: 'Büro', address: 'büro@münchen.example' }],
  ])('%s is parsed', (text, address) => {
    expect(parseMailAddress(text)).toEqual(address);
  });

  test.each([
    '',
    'team',
    '@acme.example',
    'team@',
    'a@b@c.example',
    'a@x.example, b@x.example',
    'a@x.example b@x.example',
    'Team, B <a@x.example>',
    'a <b@x.example> c',
    '"a@x.example>, <b@x.example>',
    '"Team" B <a@x.example>',
    'a@x.example\r\nBcc: b@x.example',
    'a\u0007@x.example',
    'Te\u202eam <a@x.example>',
    'a\u200b@x.example',
    'a@x..example',
    'group: a@x.example;',
  ])('%j is not an address', (text) => {
    expect(parseMailAddress(text)).toBeUndefined();
  });
});

test('text for a header is one line, without invisible characters, and not cut inside a character', () => {
  expect(sanitizeHeader('a\r\nb\tc\u0007\u202e\u200b\u2028d ', 99)).toBe('a b c d');
  expect(sanitizeHeader('abcdef', 4)).toBe('abc…');
  expect(sanitizeHeader('ab\u{1f30a}cd', 4)).toBe('ab…');
});
