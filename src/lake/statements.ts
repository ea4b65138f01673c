import { z } from 'zod';
import { TidemarkError } from '../core/errors.ts';
import { ignoreMissing } from '../core/fs.ts';
import { tryParseJson } from '../core/json.ts';
import { plural } from '../core/plural.ts';
import { type AddAction, APP_ID, type Snapshot } from './delta-log.ts';
import type { LakeStore } from './store.ts';
import { changesTable, isTableName } from './table.ts';

/** Each publish states what the log of each table has. A log alone cannot say that its end, or all of it, is gone. */

/** A table as of a publish; its rows are null if a file does not say how many it has. */
const tableStatement = z.object({ version: z.number(), files: z.number(), rows: z.number().nullable() });
type TableStatement = Readonly<z.infer<typeof tableStatement>>;

/** The statement of a publish that says most about a table. */
export interface Stated extends TableStatement {
  readonly publish: number;
}

/** By table; none for a lake that no publish has stated yet. */
export type Statements = ReadonlyMap<string, Stated>;

/** The folder of the numbers that publishes have taken, with what each states. */
export const CLAIMS = '_publishes';
/** Those of the last nights, of all shards: each is about every table. */
const LATEST = 64;

/** The remainder of a publish by this number is its writer: the number of a shard, or 0. `queries/lake/log.sql` divides by it too. */
export const WRITERS = 1024;

export const claimPath = (publish: number): string => `${CLAIMS}/${String(publish).padStart(10, '0')}.json`;

/** Adds what the logs of all tables have to the claim of a publish. */
export async function writeStatement(store: LakeStore, publish: number, snapshots: ReadonlyMap<string, Snapshot>) {
  // What an earlier version wrote besides is used no longer, and may be removed.
  const used = [...snapshots].filter(([table]) => table.endsWith(changesTable('')));
  const tables = Object.fromEntries(used.map(([table, snapshot]) => [table, describeSnapshot(snapshot)]));
  await store.put(claimPath(publish), `${JSON.stringify({ tables })}\n`);
}

/** What the last publishes state of each table. */
export async function readStatements(store: LakeStore): Promise<Statements> {
  const claims = (await store.list(CLAIMS)).flatMap(({ path }) => CLAIM.exec(path)?.[1] ?? []).map(Number);
  const stated = new Map<string, Stated>();
  // Publishes that were killed state nothing.
  for (let end = claims.length; end > 0 && stated.size === 0; end -= LATEST) {
    const latest = claims.slice(Math.max(0, end - LATEST), end);
    const read = latest.map(async (publish) => ({ publish, ...(await readClaim(store, publish)) }));
    for (const { publish, tables = {} } of await Promise.all(read)) {
      for (const [table, statement] of Object.entries(tables)) {
        if (statement.version >= (stated.get(table)?.version ?? -1)) stated.set(table, { ...statement, publish });
      }
    }
  }
  return stated;
}

const CLAIM = /\/(\d+)\.json$/u;

/** A publish that did not end, or is of an earlier version, states nothing. */
const claim = z.object({ tables: z.record(z.string().refine(isTableName), tableStatement).optional() });

async function readClaim(store: LakeStore, publish: number): Promise<z.infer<typeof claim>> {
  const path = claimPath(publish);
  // A publish that has nothing to add takes its number back.
  const text = (await store.read(path).catch(ignoreMissing)) ?? '{}';
  const { data } = claim.safeParse(tryParseJson(text));
  if (data) return data;
  throw new TidemarkError('DATA', `${store.name}/${path} is not the statement of a publish`, {
    hint: 'bring the file back from a copy of the lake',
  });
}

function describeSnapshot({ version, files }: Snapshot): TableStatement {
  const counts = [...files.values()].map(expectedRows);
  const rows = counts.every((count) => count !== undefined) ? counts.reduce((sum, count) => sum + count, 0) : null;
  return { version, files: files.size, rows };
}

/** The rows of a file as the log has them. */
export function expectedRows({ stats }: AddAction): number | undefined {
  return (JSON.parse(stats ?? '{}') as { readonly numRecords?: number }).numRecords;
}

/**
 * A number that is free again would make the rows of a killed publish visible.
 * @param snapshot of runs, read before: the numbers of publishes that end in between are there
 */
export async function findLostClaim(store: LakeStore, { transactions }: Snapshot): Promise<string | undefined> {
  const last = transactions.get(APP_ID);
  const isThere = last === undefined || (await store.read(claimPath(last)).catch(ignoreMissing)) !== undefined;
  return isThere ? undefined : `has publish ${last}, and ${claimPath(last)} is gone`;
}

/** What a table has less than a publish states: rows are never removed, and programs only put files together. */
export function findLoss(snapshot: Snapshot, stated: Stated | undefined): string | undefined {
  if (!stated) return undefined;
  const { publish, version, files } = stated;
  const now = describeSnapshot(snapshot);
  if (now.version < 0) return `is gone: publish ${publish} states ${describe(stated)}`;
  if (now.version < version) return `ends at version ${now.version}, and publish ${publish} states version ${version}`;
  const isFewer = now.rows !== null && stated.rows !== null && now.rows < stated.rows;
  const isOther = now.version === version && (now.files !== files || now.rows !== stated.rows);
  return isFewer || isOther ? `has ${describe(now)}, and publish ${publish} states ${describe(stated)}` : undefined;
}

function describe({ files, rows }: TableStatement): string {
  return rows === null ? plural(files, 'file') : `${plural(rows, 'row')} in ${plural(files, 'file')}`;
}
