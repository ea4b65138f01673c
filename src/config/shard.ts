import { createHash } from 'node:crypto';
import { TidemarkError } from '../core/errors.ts';

/** A part of the targets. Another process has each other part. */
export interface Shard {
  /** From 1 to `count`. */
  readonly index: number;
  readonly count: number;
}

const MAX_SHARDS = 1_000;

/** Reads `3/16`. @throws TidemarkError USAGE */
export function parseShard(text: string): Shard {
  const [, index, count] = (/^(\d{1,4})\/(\d{1,4})$/u.exec(text) ?? []).map(Number);
  if (index !== undefined && count !== undefined && index >= 1 && index <= count && count <= MAX_SHARDS) {
    return { index, count };
  }
  throw new TidemarkError('USAGE', `--shard ${text} is not a shard`, {
    hint: `give its number and their count, such as 3/16; there are at most ${MAX_SHARDS}`,
  });
}

/**
 * Rendezvous hashing: each shard has a score for the credential, and the highest one wins. With one shard more or less, only the
 * targets of that shard move.
 */
export function chooseShard(credential: string, count: number): number {
  let best = { index: 0, score: '' };
  for (let index = 1; index <= count; index++) {
    const score = createHash('sha256').update(`${index}\n${credential}`).digest('hex');
    if (score > best.score) best = { index, score };
  }
  return best.index;
}
