import { changes } from './changes.ts';
import { clients } from './clients.ts';
import { contents } from './contents.ts';
import { csv } from './csv.ts';
import { dlt } from './dlt.ts';
import { fleet } from './fleet.ts';
import { json } from './json.ts';
import { lake } from './lake.ts';
import { night } from './night.ts';
import { rate } from './rate.ts';
import { reports } from './reports.ts';
import type { Part } from './result.ts';
import { rows } from './rows.ts';
import { shards } from './shards.ts';
import { sql } from './sql.ts';
import { start } from './start.ts';
import { targets } from './targets.ts';
import { unchanged } from './unchanged.ts';
import { year } from './year.ts';

/** Every part, one line each. */
export const parts: readonly Part[] = [
  start,
  csv,
  json,
  dlt,
  contents,
  rows,
  night,
  targets,
  unchanged,
  year,
  changes,
  rate,
  reports,
  sql,
  clients,
  lake,
  shards,
  fleet,
];
