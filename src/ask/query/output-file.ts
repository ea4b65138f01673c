import { randomBytes } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { TidemarkError } from '../../core/errors.ts';
import { PRIVATE_FILE } from '../../core/fs.ts';

/**
 * Runs `work` on a new file beside `path`, and renames it to `path` when `work` is done: a reader sees the old file or all of the
 * new one, and an error leaves the old file as it was.
 * @throws TidemarkError USAGE if `path` is a link, a device or a folder.
 */
export async function replaceFile<T>(path: string, work: (temporary: string) => Promise<T>): Promise<T> {
  const existing = lstatSync(path, { throwIfNoEntry: false });
  if (existing?.isSymbolicLink()) {
    throw new TidemarkError('USAGE', `${path} is a link`, { hint: 'give the path of the file itself' });
  }
  if (existing && !existing.isFile()) throw new TidemarkError('USAGE', `${path} is not a regular file`);
  const temporary = `${path}.${randomBytes(6).toString('hex')}.part`;
  // Created here, so that a link of the same name is never followed.
  await (await open(temporary, 'wx', existing ? existing.mode & 0o777 : PRIVATE_FILE | 0o044)).close();
  try {
    const result = await work(temporary);
    await rename(temporary, path);
    return result;
  } finally {
    await rm(temporary, { force: true });
  }
}
