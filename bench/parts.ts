import { csv } from './csv.ts';
import { json } from './json.ts';
import { reports } from './reports.ts';
import type { Part } from './result.ts';
import { start } from './start.ts';

/** Every part, one line each. */
export const parts: readonly Part[] = [start, csv, json, reports];
