import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

/** Registers what to do at the end: `onTestFinished` inside a test, `cleanAtEnd()` for a whole file. */
export type Cleanup = (end: () => Promise<void>) => void;

/** Call it outside of tests and hooks: vitest does not run an `afterAll` that a hook registers. */
export function cleanAtEnd(): Cleanup {
  const ends: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  return (end) => void ends.push(end);
}

/**
 * What several tests of a file look at and none of them changes: created on first use, and cleaned up at the end of the file.
 * Call it outside of tests.
 */
export function share<T>(create: (cleanup: Cleanup) => Promise<T>): () => Promise<T> {
  const atEnd = cleanAtEnd();
  let created: Promise<T> | undefined;
  return () => {
    created ??= create(atEnd);
    return created;
  };
}

/** An empty folder that is removed at the end of the test. */
export async function tempFolder(cleanup: Cleanup = onTestFinished): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-test-'));
  cleanup(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
