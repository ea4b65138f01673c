import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Something that has an end, told when it is made: `onTestFinished` inside a test, `afterAll` for a whole file. */
export type Cleanup = (end: () => Promise<void>) => void;

/** An empty folder that goes when the test is over. */
export async function tempFolder(cleanup: Cleanup = onTestFinished): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-test-'));
  cleanup(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
