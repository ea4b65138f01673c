import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { maskFile } from '../../src/landing/line-writer.ts';
import { tempFolder } from '../helpers/temp.ts';

const SECRET = 'a-secret-of-some-length';
const READ_AT_ONCE = 256 * 1024;

async function masked(content: string) {
  const file = join(await tempFolder(), 'rows.csv');
  await writeFile(file, content);
  const redactor = new Redactor();
  redactor.add(SECRET);
  return { result: await maskFile(file, redactor), text: await readFile(file, 'utf8'), file };
}

test('a file without a secret is left as it is', async () => {
  const { result, text } = await masked('nothing,here\n');
  expect(result).toBeUndefined();
  expect(text).toBe('nothing,here\n');
});

test.each([-30, -SECRET.length, -12, -1, 0, 1])(
  'a secret %i characters from where reading pauses is masked',
  async (from) => {
    const before = 'é'.repeat(READ_AT_ONCE / 2).slice(0, READ_AT_ONCE / 2 - 50) + 'x'.repeat(100 + from);
    const { result, text, file } = await masked(`${before}${SECRET}\nand once more ${SECRET}`);
    expect(text).toBe(`${before}***\nand once more ***`);
    expect(result?.bytes).toBe((await stat(file)).size);
    expect(result?.sha256).toBe(createHash('sha256').update(text).digest('hex'));
  },
);
