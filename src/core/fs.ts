import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Replaces the content of a file atomically: a reader sees the old content or the new one. The data is synced to disk first. */
export async function writeFileAtomic(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const temporary = `${file}.${randomBytes(4).toString('hex')}`;
  try {
    const handle = await open(temporary, 'wx');
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
}

const PATH_ERRORS = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'EEXIST', 'EACCES', 'EPERM', 'EROFS', 'ENAMETOOLONG']);

/** The path and reason of an error of the file system that the user can correct, such as the file of `-o`; otherwise undefined. */
export function fileSystemError(error: unknown): { readonly path: string; readonly reason: string } | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, path: from, dest: path = from } = error as NodeJS.ErrnoException & { readonly dest?: string };
  if (code === undefined || path === undefined || !PATH_ERRORS.has(code)) return undefined;
  return { path, reason: error.message.replace(/^\w+: |, \w+ '.*$/gu, '') };
}
