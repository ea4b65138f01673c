import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { getSystemErrorName } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { fileSystemError, readNamedFile, systemLack, writeFileAtomic } from '../../src/core/fs.ts';
import { classifyStorageError } from '../../src/warehouse/storage.ts';

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

test('what killed processes left beside a file goes after a day; what another one may be writing stays', async () => {
  const folder = createFolder();
  const left = (name: string, hours: number) => {
    writeFileSync(join(folder, name), '');
    const seconds = Date.now() / 1000 - hours * 3600;
    utimesSync(join(folder, name), seconds, seconds);
  };
  left('a.json.0123456789ab.part', 25);
  left('a.json.0123456789ac.part', 23);
  left('b.a.json.0123456789ab.part', 25);
  left('a.json.old.0123456789ab.part', 25);
  left('a.json.other.part', 25);
  await writeFileAtomic(join(folder, 'a.json'), 'new');
  const others = ['a.json.old.0123456789ab.part', 'a.json.other.part', 'b.a.json.0123456789ab.part'];
  const stay = ['a.json', 'a.json.0123456789ac.part', ...others];
  expect(readdirSync(folder).sort()).toEqual(stay);
});

test('where a file cannot be written, the old one stays, without a temporary file', async () => {
  const folder = createFolder();
  const error = await catchError(() => writeFileAtomic(folder, 'new'));
  expect(fileSystemError(error)).toMatchObject({ path: folder });
  expect(readdirSync(join(folder, '..')).filter((name) => name.startsWith(basename(folder)))).toHaveLength(1);
});

test('a mark of the encoding at the beginning of a file is no part of its text', async () => {
  const file = join(createFolder(), 'rule.sql');
  writeFileSync(file, '\ufeff-- rule: x');
  expect(readNamedFile(file)).toBe('-- rule: x');
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

test('a path that the system holds, such as a file that is mounted, is one that the user can correct', () => {
  const error = Object.assign(new Error("EBUSY: resource busy or locked, rename 'a.part' -> '/mnt/a'"), {
    ...{ code: 'EBUSY', syscall: 'rename', path: 'a.part', dest: '/mnt/a' },
  });
  expect(fileSystemError(error)).toEqual({ path: '/mnt/a', reason: 'resource busy or locked' });
});

test.each([
  ['EDQUOT', 'the disk quota is used up'],
  ['ESTALE', 'a network file system has lost the file'],
  ['EIO', 'the disk cannot be read or written'],
  ['EROFS', 'the file system is read-only'],
  ['ENOLCK', 'another program has locked a file, or its file system has no locks'],
] as const)('what a call lacks that failed with %s is known, also where Node has no name for it', (name, lack) => {
  const code = getSystemErrorName(-constants.errno[name]);
  const error = Object.assign(new Error(`${code}: write`), { code });
  expect([systemLack(error), classifyStorageError(error)]).toEqual([lack, name === 'EDQUOT' ? 'disk-full' : undefined]);
});

test.each([
  ['FATAL Error: Failed to create checkpoint because of error: fsync failed!', 'the disk cannot be read or written'],
  ['IO Error: Could not write file "/d/w": Input/output error', 'the disk cannot be read or written'],
  [
    'TransactionContext Error: Failed to commit: Could not fsync file "/d/w": Read-only file system',
    'the file system is read-only',
  ],
  ['IO Error: Cannot open file "/d/w": Stale file handle', 'a network file system has lost the file'],
  [
    'IO Error: Could not set lock on file "/lake/_staging/1": Conflicting lock is held in PID 0.',
    'another program has locked a file, or its file system has no locks',
  ],
])('what DuckDB lacks is known: %s', (message, lack) => {
  expect(systemLack(new Error(message))).toBe(lack);
});
