import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { maskFile } from '../../src/landing/scrub.ts';
import { tempFolder } from '../helpers/temp.ts';

const SECRET = 'a-secret-of-some-length';
const READ_AT_ONCE = 256 * 1024;

async function masked(content: string) {
  const file = join(await tempFolder(), 'rows.csv.gz');
  await writeFile(file, gzipSync(content));
  const redactor = new Redactor();
  redactor.add(SECRET);
  return { result: await maskFile(file, redactor), text: gunzipSync(await readFile(file)).toString() };
}

test('a file without a secret is left as it is', async () => {
  const { result, text } = await masked('nothing,here\n');
  expect(result).toBeUndefined();
  expect(text).toBe('nothing,here\n');
});

test('a file of which nothing was written is left as it is', async () => {
  const file = join(await tempFolder(), 'rows.csv.gz');
  await writeFile(file, '');
  expect(await maskFile(file, new Redactor())).toBeUndefined();
});

test.each([-30, -SECRET.length, -12, -1, 0, 1])(
  'a secret %i characters from where reading pauses is masked',
  async (from) => {
    const before = 'é'.repeat(READ_AT_ONCE / 2).slice(0, READ_AT_ONCE / 2 - 50) + 'x'.repeat(100 + from);
    const { result, text } = await masked(`${before}${SECRET}\nand once more ${SECRET}`);
    expect(text).toBe(`${before}***\nand once more ***`);
    expect(result?.bytes).toBe(Buffer.byteLength(text));
    expect(result?.sha256).toBe(createHash('sha256').update(text).digest('hex'));
  },
);
