import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Registers what to do at the end: `onTestFinished` inside a test, `afterAll` for a whole file. */
export type Cleanup = (end: () => Promise<void>) => void;

/** An empty folder that is removed at the end of the test. */
export async function tempFolder(cleanup: Cleanup = onTestFinished): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-test-'));
  cleanup(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
