import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Puts a text in the place of a file at one stroke, and on the disk before it is said to be there. */
export async function writeWhole(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const next = `${file}.${randomBytes(4).toString('hex')}`;
  try {
    const handle = await open(next, 'wx');
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(next, file);
  } finally {
    await rm(next, { force: true });
  }
}
