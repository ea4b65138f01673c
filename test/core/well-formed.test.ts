import { describe, expect, it, test } from 'vitest';
import { repairBlocks, repairEscapes, repairUtf8 } from '../../src/core/well-formed.ts';
import { createRequestMetrics } from '../../src/http/response-body.ts';

const repair = (json: string) => {
  const metrics = createRequestMetrics();
  return [repairEscapes(json, metrics), metrics.replaced];
};

describe('escapes of JSON', () => {
  it.each([
    ['"a\\ud800b"', '"a\\ufffdb"', 1],
    ['"\\uDC00\\uD83D"', '"\\ufffd\\ufffd"', 2],
    ['"\\ud83d\\ude00"', '"\\ud83d\\ude00"', 0],
    ['"\\ud83d\\ud83d\\ude00"', '"\\ufffd\\ud83d\\ude00"', 1],
    ['"\\\\ud800"', '"\\\\ud800"', 0],
    ['"\\\\\\ud800"', '"\\\\\\ufffd"', 1],
    ['"\\ud800\\n"', '"\\ufffd\\n"', 1],
    ['{"\\ud800":"\\u0041\\ud7ff"}', '{"\\ufffd":"\\u0041\\ud7ff"}', 1],
  ])('%s is %s', (json, expected, count) => {
    expect(repair(json)).toEqual([expected, count]);
    const value = JSON.stringify(JSON.parse(expected));
    expect(Buffer.from(value).toString()).toBe(value);
  });
});

const TEXTS: readonly (readonly [string, Buffer, string, boolean])[] = [
  ['text', Buffer.from('a é € 🌊 b'), 'a é € 🌊 b', false],
  ['half of a pair', Buffer.from([0x61, 0xed, 0xa0, 0x80, 0x62]), 'a\uFFFDb', true],
  ['two halves', Buffer.from([0xed, 0xa0, 0x80, 0xed, 0xb0, 0x80]), '\uFFFD\uFFFD', true],
  ['the last character before the halves', Buffer.from('\uD7FF'), '\uD7FF', false],
  ['Latin-1', Buffer.from('café', 'latin1'), 'caf\uFFFD', true],
  ['a character that is cut', Buffer.from([0x61, 0xe2, 0x82]), 'a\uFFFD', true],
  ['a mark at the beginning', Buffer.from('\uFEFFa'), '\uFEFFa', false],
  ['a mark and half of a pair', Buffer.from([0xef, 0xbb, 0xbf, 0xed, 0xa0, 0x80]), '\uFEFF\uFFFD', true],
];

describe.each(TEXTS)('%s', (_, bytes, expected, isReplaced) => {
  test('as a whole', () => {
    const metrics = createRequestMetrics();
    expect(repairUtf8(bytes, metrics).toString()).toBe(expected);
    expect(metrics.replaced > 0).toBe(isReplaced);
  });

  test.each([1, 2, 3, 4, 5])('in blocks of %d bytes', async (size) => {
    async function* blocks() {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    }
    const metrics = createRequestMetrics();
    const repaired: Buffer[] = [];
    for await (const block of repairBlocks(blocks(), metrics)) repaired.push(Buffer.from(block));
    expect(Buffer.concat(repaired).toString()).toBe(expected);
    expect(metrics.replaced > 0).toBe(isReplaced);
  });
});
