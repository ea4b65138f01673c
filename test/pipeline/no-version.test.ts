import { expect, test } from 'vitest';
import type { Flavor } from '../../sandbox/types.ts';
import { pulledProject } from '../helpers/test-project.ts';

const FIRST = '2026-10-01T02:15:00Z';
const SECOND = '2026-10-01T14:15:00Z';

/** What agents last reported, and what a service measures: they are of use only as they were at each pull. */
const MEASUREMENTS = ['agents_history', 'autoscaler_metrics_history'];

test.each(['spec', 'hashicorp'] as const)(
  'a pull twelve hours later, in which nothing happened, writes versions of measurements alone: %s',
  async (flavor: Flavor) => {
    let now = new Date(FIRST);
    const place = await pulledProject({ flavor, clock: () => now });
    now = new Date(SECOND);
    await place.pull(['--now', SECOND, '--fresh']);
    const tables = await place.rows(
      `select table_name from duckdb_columns() where column_name = 'valid_from' and database_name = current_database() and schema_name = 'main' order by 1`,
    );
    const written: string[] = [];
    for (const { table_name: table } of tables) {
      const [row] = await place.rows(
        `select count(*) as versions from ${table} where valid_from = $second::timestamptz or valid_to = $second::timestamptz`,
        { second: SECOND },
      );
      if (Number(row?.versions) > 0) written.push(String(table));
    }
    expect(tables.length).toBeGreaterThan(20);
    expect(written.filter((table) => !MEASUREMENTS.includes(table))).toEqual([]);
  },
);
