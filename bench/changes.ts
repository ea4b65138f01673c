import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, openDatabase } from '../src/warehouse/database.ts';
import { THREADS } from '../src/warehouse/session.ts';
import { TIDEMARK, timed } from './processes.ts';
import { createYear } from './reports-estate.ts';
import { compareWithLimit, medianRatio, type Part, type Round, type Size, seconds } from './result.ts';

const ROUNDS: Readonly<Record<Size, number>> = { quick: 1, usual: 5, large: 9 };
/** What a person waits for without a thought. */
const MAX_MS = 1000;
const MAX_RATIO = 3;
const CONFIG = 'targets: [{ name: acme, kind: platform, url: "http://127.0.0.1:1", organization: acme, token: x }]\n';

export const changes: Part = {
  name: 'changes',
  about: 'what changed in the last of 365 runs, 10,000 workspaces, 2 % changing',
  async measure({ folder, size, log }) {
    const file = join(folder, 'data', 'warehouse.duckdb');
    await mkdir(join(folder, 'data'));
    await writeFile(join(folder, 'tidemark.yaml'), CONFIG);
    const { database, asOf } = await createYear(file);
    database.close();
    const [before, at] = [new Date(asOf.getTime() - 86_400_000), asOf].map((time) => `'${time.toISOString()}'`);
    const rounds: Round[] = [];
    const diffs: number[] = [];
    for (let round = 1; round <= ROUNDS[size]; round++) {
      const against = await query(file, compareStates(`workspaces_at(${before})`, `workspaces_at(${at})`));
      const told = `select * from changes where changes.at = ${at}::timestamptz and "table" = 'workspaces'`;
      rounds.push({ measured: await query(file, told), against });
      diffs.push((await timed(folder, [TIDEMARK, 'diff', '--stat'])).cpuMs);
      log(`round ${round}: CPU ${seconds(diffs.at(-1) ?? 0)}`);
    }
    return [
      { what: '`tidemark diff`, every table, CPU time', ...compareWithLimit(diffs, MAX_MS, seconds) },
      {
        what: 'the view `changes`, workspaces',
        ...medianRatio(rounds, seconds, 'for the two states compared by `except`'),
        aim: MAX_RATIO,
      },
    ];
  },
};

const compareStates = (one: string, other: string) =>
  `(from ${one} except from ${other}) union all (from ${other} except from ${one})`;

/** Milliseconds of one query in a file that is open. */
async function query(file: string, sql: string): Promise<number> {
  const database: Database = await openDatabase(file, { readOnly: true, threads: THREADS });
  const startedMs = performance.now();
  await database.script(sql);
  const endedMs = performance.now();
  database.close();
  return endedMs - startedMs;
}
