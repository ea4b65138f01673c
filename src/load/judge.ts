import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { shortenText } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import { readCsv } from '../landing/csv.ts';
import type { LandingFile } from '../landing/store.ts';
import { describeOther } from '../services/describe-server.ts';
import { firstLine } from '../warehouse/database.ts';
import { isOutOfMemory } from '../warehouse/storage.ts';
import { ORDINAL, type Table } from '../warehouse/tables.ts';
import type { Row } from '../warehouse/values.ts';
import { describeLoad, type Origin, type PullResult } from './record-pulls.ts';
import type { Facts, Landed, Stage } from './stage.ts';

/** Too many rows would be deleted at once: the load is quarantined until a person accepts it. */
export class RowDropError extends TidemarkError {}

/** A table would lose all rows: whether that is believed depends on the other sources of the target. */
export class EmptiedTableError extends TidemarkError {}

export type Limits = Pick<Config, 'shrinkPercent' | 'memoryLimit'>;

/**
 * Judges a landing by the stages of all tables that its source fills, its main table first. The first objection counts; that a table is
 * emptied only where there is no other.
 * @param readBefore where the current rows come from; asked only where rows would change or be deleted
 */
export async function judge(
  landed: Landed,
  stages: readonly Stage[],
  limits: Limits,
  readBefore: () => Promise<Origin>,
): Promise<PullResult | TidemarkError> {
  const notes: string[] = [];
  let emptied: EmptiedTableError | undefined;
  for (const { table, facts } of stages) {
    const known = facts.get(landed) as Facts;
    const objection =
      (await findObjection(landed, table, known, limits)) ?? (await findMove(landed, table, known, readBefore));
    if (objection instanceof EmptiedTableError) emptied ??= objection;
    else if (objection) return objection;
    if (known.numberedKey) {
      const repeat = describeRepeat(table, known.numberedKey);
      notes.push(`${table.name}: ${repeat} and other values: the column ordinal keeps them apart`);
    }
  }
  if (emptied) return emptied;
  const main = stages[0]?.facts.get(landed);
  if (!main) return new TidemarkError('DATA', `no table is filled by the source ${landed.manifest.source}`);
  return describeLoad(landed, main, notes);
}

async function findObjection(landed: Landed, table: Table, facts: Facts, { shrinkPercent, memoryLimit }: Limits) {
  const { error, invalidKey } = facts;
  if (isOutOfMemory(error)) return outOfMemory(landed, memoryLimit, error);
  if (error !== undefined) return describeReadError(table, landed, error);
  if (invalidKey) return refuseKey(table, landed, invalidKey);
  const { source, expected_rows: expected } = landed.manifest;
  if (table.name === source && expected !== null && facts.landed !== expected) {
    const what = `got ${plural(facts.landed, 'row')}, but the service reports ${expected}`;
    return new TidemarkError('DATA', `${source}: ${what}`);
  }
  return landed.acceptDrop ? undefined : findLoss(landed, table, facts, shrinkPercent);
}

async function refuseKey(table: Table, landed: Landed, key: Row): Promise<TidemarkError> {
  const place = await findInvalidKey(table, landed);
  const rows = plural(Number(key.times), 'row');
  const what = key.is_missing === true ? `${rows} without ${table.key[0]}` : describeRepeat(table, key);
  return new TidemarkError('DATA', `${table.name}: ${what}${place}`);
}

/** Fewer deleted rows than this are no mass loss: a table of two rows may lose both. */
const MIN_LOST_ROWS = 3;

/** Whether so many of the rows that a table has would be deleted that a person has to accept it. */
export function isMassLoss(
  { volatile }: Pick<Table, 'volatile'>,
  { deleted, held }: Pick<Facts, 'deleted' | 'held'>,
  shrinkPercent: number,
): boolean {
  return !volatile && deleted >= MIN_LOST_ROWS && deleted * 100 > held * shrinkPercent;
}

/** Rows that are missing at another place are not known to be gone, and those of another installation are not what became of them. */
async function findMove(
  { manifest, acceptDrop }: Landed,
  { name, volatile }: Table,
  { deleted, changed, gone, held }: Facts,
  readBefore: () => Promise<Origin>,
): Promise<RowDropError | undefined> {
  const lost = volatile ? 0 : deleted - gone;
  if (acceptDrop || lost + changed <= 0) return undefined;
  const before = await readBefore();
  const hint = acceptHint(manifest);
  const other = describeOther(before.installation, manifest.installation);
  if (other !== undefined) {
    const what = `${name}: ${lost + changed} of ${plural(held, 'row')} disappeared or changed, and another installation answers: ${other}`;
    return new RowDropError('DATA', what, { hint });
  }
  if (lost <= 0 || (before.place ?? manifest.place) === manifest.place) return undefined;
  const what = `${name}: ${lost} of ${plural(held, 'row')} disappeared, and the target refers to another place than before`;
  return new RowDropError('DATA', what, { hint });
}

const acceptHint = ({ source }: Landed['manifest']) =>
  `if this is correct, accept it with \`tidemark pull --accept-shrink ${source}\``;

function findLoss(
  { manifest, acceptEmpty = false }: Landed,
  table: Table,
  { inserted, ...facts }: Facts,
  shrinkPercent: number,
): TidemarkError | undefined {
  const deleted = facts.deleted - facts.gone;
  const known = facts.held - facts.unknown - facts.gone;
  const hint = acceptHint(manifest);
  if (isMassLoss(table, { deleted, held: known }, shrinkPercent)) {
    const percent = Math.round((deleted * 100) / known);
    const what = `${table.name}: ${deleted} of ${known} rows (${percent} %) disappeared at once`;
    return new RowDropError('DATA', what, { hint });
  }
  const isEmptied = !table.volatile && deleted > 0 && deleted === known && inserted === 0;
  if (acceptEmpty || !isEmptied) return undefined;
  return new EmptiedTableError('DATA', `${table.name}: every row (${known}) disappeared at once`, { hint });
}

/** The landing is complete, and can be loaded later. */
export function outOfMemory({ manifest }: Landed, memoryLimit: string, cause: unknown): TidemarkError {
  const hint = `raise \`memoryLimit\`, then load the landing with \`tidemark pull --from ${manifest.run_id}\``;
  return new TidemarkError('INCOMPLETE', `loading needs more memory than ${memoryLimit}`, { hint, cause });
}

/** Characters of what a message repeats of a landing: a cell, or the message of DuckDB with one. */
const MAX_SHOWN = 300;

function describeRepeat({ key }: Table, row: Row): string {
  const shown = key
    .filter((name) => name !== ORDINAL)
    .map((name) => `${name} ${shortenText(JSON.stringify(row[name]), MAX_SHOWN)}`);
  return `${row.times} rows have the key ${shown.join(', ')}`;
}

/** Turns DuckDB's error of many lines into one line, with the place in the landed file if it can be found. */
async function describeReadError(table: Table, landed: Landed, error: unknown): Promise<TidemarkError> {
  if (error instanceof TidemarkError) return error;
  const cell = INVALID_TIME.exec(firstLine(error))?.[1];
  const place = cell === undefined ? '' : await findLine(landed, (record) => record.includes(cell));
  return new TidemarkError('DATA', `${table.name}: ${shortenText(formatReadError(error), MAX_SHOWN)}${place}`, {
    cause: error,
  });
}

/** DuckDB's message for a text that is not a timestamp. */
const INVALID_TIME = /timestamp field [^"]*"(.*)"(?:,|$)/u;

function formatReadError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const line = /CSV Error on Line: (\d+)/u.exec(message)?.[1];
  if (line === undefined) return firstLine(error).replace(/^\w[\w ]* Error: /u, '');
  const reason = message
    .split('\n')
    .find((text) => /^(Error when|Expected Number|Value with|Invalid unicode|Maximum line)/u.test(text));
  return `line ${line} of the CSV is invalid: ${reason ?? firstLine(error)}`;
}

/** The first line of a CSV whose key is missing or repeated, as `: line 17 of workspaces.csv`; empty if there is none. */
function findInvalidKey({ key }: Table, landed: Landed): Promise<string> {
  const seen = new Set<string>();
  return findLine(landed, (record, { columns = [], bareNulls = [] }) => {
    const values = key.map((name) => record[columns.indexOf(name)] ?? '');
    const isMissing = ['', ...bareNulls].includes(values[0] ?? '');
    if (isMissing || seen.has(JSON.stringify(values))) return true;
    seen.add(JSON.stringify(values));
    return false;
  });
}

/** Reads the CSV files of a landing row by row, which is slow: only for errors. */
async function findLine(
  { manifest, directory }: Landed,
  matches: (record: readonly string[], file: LandingFile) => boolean,
): Promise<string> {
  for (const file of manifest.files.filter(({ format }) => format === 'csv')) {
    for await (const row of readCsv(join(directory, file.file), { from: 2, info: true })) {
      const { record, info } = row as { record: readonly string[]; info: { lines: number } };
      if (matches(record, file)) return `: line ${info.lines} of ${file.file}`;
    }
  }
  return '';
}
