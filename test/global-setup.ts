import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder of what tests start from: see helpers/prepared.ts. */
    readonly prepared: string;
  }
}

/** Makes the folder for what the tests of one run share. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-prepared-'));
  project.provide('prepared', folder);
  return () => rm(folder, { recursive: true, force: true });
}
