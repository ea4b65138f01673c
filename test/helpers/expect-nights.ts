import { join } from 'node:path';
import { expect } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { renderDifference } from '../../src/warehouse/changes.ts';
import { createSqlFiles, quoteIdent } from '../../src/warehouse/sql-files.ts';
import { fillParams } from '../../src/warehouse/sql-params.ts';
import { loadTables } from '../../src/warehouse/tables.ts';
import type { Row } from '../../src/warehouse/values.ts';
import { openCopy } from './prepared.ts';
import { nightTime, RandomNights } from './random-nights.ts';
import { type Cleanup, tempFolder } from './temp.ts';

const sorted = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).sort();

/** The order of the fields is that of the truth. */
const toTold = ({ at, table, key, name, change, column, old, new: current }: Row) => ({
  at,
  table,
  key,
  name,
  change,
  column,
  old,
  new: current,
});

/** Lets nights pass, and compares `T_at`, `changes` and the difference of two nights with a plain map. @returns how many were killed in a load */
export async function expectNights(nights: number, seed: number, cleanup: Cleanup): Promise<number> {
  const files = createSqlFiles([PACKAGE_ROOT]);
  const tables = await loadTables(files);
  const file = join(await tempFolder(cleanup), 'warehouse.duckdb');
  const model = new RandomNights({ file, database: await openCopy(file) }, files, tables, seed);
  cleanup(async () => model.database.close());
  for (let night = 1; night <= nights; night++) await model.pass();
  const { database } = model;

  const told = (await database.rows('from changes')).map(toTold);
  for (let night = 1; night <= nights; night++) {
    const at = nightTime(night).replace('.000Z', 'Z');
    const ofNight = told.filter((row) => row.at === at);
    expect(sorted(ofNight), `changes of night ${night}, seed ${seed}`).toEqual(sorted(model.changesOf(night)));
  }
  for (const [from, to] of pairs(nights)) {
    const params = { from: nightTime(from), to: nightTime(to), targets: null, project: null, subject: null };
    const sql = renderDifference(files, [...tables.values()]);
    const difference = (await database.script(fillParams(sql, params))).map(toTold);
    expect(sorted(difference), `difference of nights ${from} and ${to}, seed ${seed}`).toEqual(
      sorted(model.difference(from, to)),
    );
  }
  for (const truth of model.truths) {
    const { name, columns, computed, changes } = truth.table;
    if (changes.renewed.includes('*')) continue;
    for (const night of [1, Math.ceil(nights / 2), nights]) {
      const shown = columns.filter((column) => column.name !== 'target' && !computed.includes(column.name));
      const texts = shown.map((column) => asText(column.name, column.type, computed)).join(', ');
      const rows = await database.rows(`select ${texts} from ${name}_at('${nightTime(night)}')`);
      expect(sorted(rows), `${name} at night ${night}, seed ${seed}`).toEqual(sorted(model.rowsAt(truth, night)));
    }
  }
  return model.kills;
}

function pairs(nights: number): readonly (readonly [number, number])[] {
  const half = Math.ceil(nights / 2);
  return [
    [1, nights],
    [half, nights],
    [Math.max(1, half - 2), half],
    [nights - 1, nights],
  ];
}

function asText(name: string, type: string, computed: readonly string[]): string {
  const column = quoteIdent(name);
  if (name === 'extra' && computed.includes('extra.DaysRemaining'))
    return `regexp_replace(extra::varchar, ',"DaysRemaining":\\d+', '') as extra`;
  if (type === 'timestamptz')
    return `replace(strftime(timezone('UTC', ${column}), '%Y-%m-%dT%H:%M:%S.%fZ'), '.000000Z', 'Z') as ${column}`;
  return `${type.endsWith('[]') ? `to_json(${column})` : column}::varchar as ${column}`;
}
