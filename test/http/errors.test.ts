import { describe, expect, it } from 'vitest';
import { extractErrorMessage } from '../../src/http/error-message.ts';
import { isRejection, ServiceError } from '../../src/http/errors.ts';

describe('the error message of a response', () => {
  it.each([
    ['JSON:API errors', '{"errors":[{"status":"404","title":"not found"}]}', 'not found'],
    [
      'a status that is a number',
      '{"errors":[{"detail":"Slow down.","status":429,"title":"Too many requests"}]}',
      'Too many requests: Slow down.',
    ],
    ['a pointer', '{"errors":[{"title":"invalid","source":{"pointer":"/data/name"}}]}', 'invalid (/data/name)'],
    ['errors that are plain strings', '{"errors":["one","two"]}', 'one; two'],
    ['errors of fields', '{"errors":{"base":["one","two"]}}', '{"base":["one","two"]}'],
    ['errors that are one text', '{"errors":"one"}', 'one'],
    ['no errors', '{"errors":[]}', ''],
    ['text', 'Permission denied\n', 'Permission denied'],
    ['text of several lines', '1 error occurred:\n\t* permission denied\n\n', '1 error occurred: * permission denied'],
    ['a text in JSON', '"volume in use"', 'volume in use'],
    ['error and message', '{"error":"invalid","message":"no"}', 'invalid: no'],
    ['text that begins like JSON', '{nonsense', '{nonsense'],
    [
      'an HTML page',
      '<!DOCTYPE html><html><head><title> Sign in </title></head></html>',
      'an HTML page titled "Sign in"',
    ],
    ['an HTML page without a title', '<html><body>x</body></html>', 'an HTML page'],
    ['control characters', 'a\u001b[31mb\u0000c\u202e', 'a[31mbc'],
    ['nothing', '  ', ''],
  ])('%s', (_, text, message) => {
    expect(extractErrorMessage(text)).toBe(message);
  });

  it('is cut where it is long', () => {
    expect(extractErrorMessage('x'.repeat(5000))).toHaveLength(401);
  });
});

it.each([
  [{}, true],
  [{ isForeign: false }, true],
  [{ isForeign: true }, false],
])('a rejection is one of the service itself: %o', (details, expected) => {
  const error = {
    failure: 'invalid',
    status: 400,
    serviceMessage: '',
    operation: 'x',
    target: 'y',
    ...details,
  } as const;
  expect(isRejection(new ServiceError(error))).toBe(expected);
});

it('reads the title of a hostile page in linear time', () => {
  const { user } = process.cpuUsage();
  expect(extractErrorMessage(`<html>${'<title'.repeat(60_000)}`)).toBe('an HTML page');
  expect(process.cpuUsage({ user, system: 0 }).user).toBeLessThan(1_000_000);
});
