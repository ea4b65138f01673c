import { csv } from './csv.ts';
import type { Part } from './result.ts';

/** Every part, one line each. */
export const parts: readonly Part[] = [csv];
