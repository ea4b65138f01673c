import { csv } from './csv.ts';
import { json } from './json.ts';
import { rate } from './rate.ts';
import { reports } from './reports.ts';
import type { Part } from './result.ts';
import { sql } from './sql.ts';
import { start } from './start.ts';
import { year } from './year.ts';

/** Every part, one line each. */
export const parts: readonly Part[] = [start, csv, json, year, rate, reports, sql];
