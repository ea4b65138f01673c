import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface WriteOptions {
  /** Permissions of the file, whatever the umask is. @default those of a new file */
  readonly mode?: number;
}

/** Replaces the content of a file atomically: a reader sees the old content or the new one. On return, it is on disk. */
export async function writeFileAtomic(file: string, text: string, { mode }: WriteOptions = {}): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const temporary = `${file}.${randomBytes(4).toString('hex')}`;
  try {
    const handle = await open(temporary, 'wx', mode);
    try {
      if (mode !== undefined) await handle.chmod(mode);
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
  await syncFolder(dirname(file));
}

/** Errors of platforms that cannot sync folders, such as Windows. */
const NO_FOLDER_SYNC = new Set(['EISDIR', 'EPERM', 'EACCES', 'EINVAL']);

async function syncFolder(path: string): Promise<void> {
  await syncPath(path).catch((error: NodeJS.ErrnoException) => {
    if (!NO_FOLDER_SYNC.has(error.code ?? '')) throw error;
  });
}

/** Syncs a file, or the entries of a folder, to disk. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
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
