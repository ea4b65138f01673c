import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const HERE = new URL('.', import.meta.url).pathname;

/** What a run installed serves the next one with the same versions. */
export const INSTALL_MS = 1_200_000;

/** A folder in the temporary one that belongs to the content of these files. */
export function cacheFolder(...files: readonly string[]): string {
  const digest = createHash('sha256');
  for (const file of files) digest.update(readFileSync(join(HERE, file)));
  return join(tmpdir(), `tidemark-clients-${digest.digest('hex').slice(0, 12)}`);
}
