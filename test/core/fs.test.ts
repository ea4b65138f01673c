import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fileSystemError, writeFileAtomic } from '../../src/core/fs.ts';

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function catchError(work: () => Promise<unknown>): Promise<unknown> {
  return work().then(
    () => undefined,
    (error: unknown) => error,
  );
}

test('a file is replaced as a whole, and nothing else is left in its folder', async () => {
  const folder = createFolder();
  const file = join(folder, 'a.json');
  writeFileSync(file, 'old');
  await writeFileAtomic(file, 'new');
  expect(readFileSync(file, 'utf8')).toBe('new');
  expect(readdirSync(folder)).toEqual(['a.json']);
});

test('where a file cannot be written, the old one stays, without a temporary file', async () => {
  const folder = createFolder();
  const error = await catchError(() => writeFileAtomic(folder, 'new'));
  expect(fileSystemError(error)).toMatchObject({ path: folder });
  expect(readdirSync(join(folder, '..')).filter((name) => name.startsWith(basename(folder)))).toHaveLength(1);
});

test('the error of a path has the path and the reason; another error is not one', async () => {
  const file = join(createFolder(), 'a.json');
  writeFileSync(file, '');
  const error = await catchError(() => writeFileAtomic(join(file, 'b.json'), 'new'));
  expect(fileSystemError(error)).toEqual({
    path: file,
    reason: expect.stringMatching(/^(?:file already exists|not a directory)$/u),
  });
  expect(fileSystemError(new Error('EACCES'))).toBeUndefined();
});
