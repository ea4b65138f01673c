import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import type { UnknownPart } from '../../src/landing/store.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import type { SqlFiles } from '../../src/warehouse/sql-files.ts';
import { type Column, type Table, tablesForSource } from '../../src/warehouse/tables.ts';
import { createRandom } from './rate-simulation.ts';
import { fill } from './report-warehouse.ts';

/** A row as it was pulled; its texts are those of `changes`. */
type Pulled = Readonly<Record<string, unknown>>;

/** A row of `changes`, without the columns that all rows of a test share. */
export interface Told {
  readonly at: string;
  readonly table: string;
  readonly key: string;
  readonly name: string | null;
  readonly change: string;
  readonly column: string | null;
  readonly old: string | null;
  readonly new: string | null;
}

interface Version {
  readonly row: Pulled;
  readonly from: number;
  to: number | undefined;
}

/** What a plain map knows of one table: every version of every row, in the order of their ends. */
interface Truth {
  readonly table: Table;
  readonly current: Map<string, Version>;
  readonly versions: Version[];
}

/** When a source was loaded, and which parts it could not list then. */
interface Answer {
  readonly night: number;
  readonly unknown: ReadonlySet<unknown>;
}

export const TARGET = 'acme';
const FIRST_MS = Date.parse('2026-01-01T02:15:00Z');
export const nightTime = (night: number) => new Date(FIRST_MS + night * 86_400_000).toISOString();
const iso = (night: number) => nightTime(night).replace('.000Z', 'Z');

const TEXTS = [null, 'a', 'b', 'zwölf 名前 🙂', 'line\nbreak', 'it\'s "quoted"', 'path/to; --'];
const NAMES = ['blue', 'green', 'grün', null];
const TIMES = [null, '2025-05-01T00:00:00Z', '2026-03-04T05:06:07.890123Z'];
const JSONS = [null, '{"a":1}', '{"ü":["x",null]}', '[1,2]'];
const LISTS = [null, [], ['a'], ['b', 'a'], ['a', 'b']];
const MEMBERS = ['m1', 'm2', 'mö3', 'm4', 'm5'];

class KilledError extends Error {}

/** Random nights of every source, loaded as a run loads them, beside a plain map that keeps the truth. */
export class RandomNights {
  readonly #random: () => number;
  readonly #truths = new Map<string, Truth>();
  readonly #answers = new Map<string, Answer[]>();
  night = 0;
  /** How many of the nights were killed in a load. */
  kills = 0;

  #file: string;
  #database: Database;

  constructor(
    { file, database }: { readonly file: string; readonly database: Database },
    readonly files: SqlFiles,
    readonly tables: ReadonlyMap<string, Table>,
    seed: number,
  ) {
    this.#random = createRandom(seed);
    this.#file = file;
    this.#database = database;
    for (const table of tables.values())
      if (table.source) this.#truths.set(table.name, { table, current: new Map(), versions: [] });
  }

  /** That of the last process. */
  get database(): Database {
    return this.#database;
  }

  get truths(): readonly Truth[] {
    return [...this.#truths.values()];
  }

  /** A night: each source is complete, partial, failed, quarantined or not pulled; a kill leaves the rest of them unloaded. */
  async pass(): Promise<void> {
    this.night++;
    const sources = [...new Set(this.truths.map(({ table }) => String(table.source)))];
    const killedAfter = this.#chance(0.2) ? this.#below(sources.length) : sources.length;
    for (const [index, source] of sources.entries()) if (index < killedAfter) await this.#pullSource(source);
    const killed = sources[killedAfter];
    if (killed !== undefined && this.#chance(0.7)) await this.#killInLoad(killed);
    await this.database.run(
      `insert into runs values ($id, '${TARGET}', 'nightly', $status, $at::timestamptz, $at::timestamptz)`,
      {
        id: `run-${this.night}`,
        status: killedAfter < sources.length ? 'interrupted' : 'complete',
        at: nightTime(this.night),
      },
    );
  }

  async #pullSource(source: string): Promise<void> {
    const fate = this.#random();
    if (fate < 0.08) return;
    if (fate < 0.2) return this.#record(source, fate < 0.14 ? 'failed' : 'quarantined', []);
    const tables = tablesForSource(source, this.tables);
    const unknown = fate < 0.4 ? this.#chooseUnknown(tables) : [];
    for (const table of tables) await this.#loadTable(table, unknown);
    await this.#record(source, unknown.length > 0 ? 'partial' : 'complete', unknown);
    const values = new Set(unknown.map(({ value }) => value));
    this.#answers.set(source, [...(this.#answers.get(source) ?? []), { night: this.night, unknown: values }]);
  }

  /** The next process finds what was on the disk when a load was in the middle of its transaction. Nothing of it counts. */
  async #killInLoad(source: string): Promise<void> {
    const [table] = tablesForSource(source, this.tables);
    const truth = this.#truths.get(String(table?.name)) as Truth;
    const sent = [...this.#nextRows(truth)].map((row) => withJson(truth.table, row));
    const part = this.#random();
    const next = `${this.#file}.${this.night}`;
    const killed: Database = {
      ...this.#database,
      transact: async (statements) => {
        const begun = statements.slice(0, Math.ceil(statements.length * part));
        await this.#database.connection.run(['begin;', ...begun].join('\n'));
        await copyFile(this.#file, next);
        if (existsSync(`${this.#file}.wal`)) await copyFile(`${this.#file}.wal`, `${next}.wal`);
        throw new KilledError();
      },
    };
    try {
      await fill(killed, this.files, truth.table, sent, TARGET, nightTime(this.night));
    } catch (error) {
      if (!(error instanceof KilledError)) throw error;
      this.#database.close();
      this.#database = await openDatabase(next, { threads: 1 });
      await this.#database.run('pragma disable_checkpoint_on_shutdown');
      this.#file = next;
      this.kills++;
    }
  }

  #chooseUnknown(tables: readonly Table[]): readonly UnknownPart[] {
    const column = tables.find(({ part }) => part)?.part;
    return column ? [{ column, value: this.#pick(['k0', 'k1']), reason: 'it does not answer' }] : [];
  }

  #record(source: string, status: string, unknown: readonly UnknownPart[]): Promise<void> {
    return this.database.run(
      `insert into pulls (run_id, target, source, status, started_at, as_of, unknown_parts)
       values ($id, '${TARGET}', $source, $status, $at::timestamptz, $at::timestamptz, $unknown::json)`,
      {
        id: `run-${this.night}`,
        source,
        status,
        at: nightTime(this.night),
        unknown: unknown.length > 0 ? JSON.stringify(unknown) : null,
      },
    );
  }

  async #loadTable(table: Table, unknown: readonly UnknownPart[]): Promise<void> {
    const truth = this.#truths.get(table.name) as Truth;
    const isUnknown = (row: Pulled) =>
      unknown.some(({ column, value }) => column === table.part && row[column] === value);
    const rows = new Map<string, Pulled>();
    for (const row of this.#nextRows(truth)) if (!isUnknown(row)) rows.set(keyOf(table, row), row);
    const sent = [...rows.values()].map((row) => withJson(table, row));
    await fill(this.database, this.files, table, sent, TARGET, nightTime(this.night), unknown);
    for (const [key, version] of truth.current) {
      const next = rows.get(key);
      if (isUnknown(version.row) || (next && isSame(table, version.row, next))) continue;
      version.to = this.night;
      truth.current.delete(key);
    }
    for (const [key, row] of rows) {
      if (truth.current.has(key)) continue;
      const version: Version = { row, from: this.night, to: undefined };
      truth.current.set(key, version);
      truth.versions.push(version);
    }
  }

  /** The rows of the night before, some of them changed, renamed, moved, deleted or made again, and others. */
  *#nextRows({ table, current }: Truth): Generator<Pulled> {
    const { name, place } = table.changes;
    for (const { row } of current.values()) {
      const fate = this.#random();
      if (fate < 0.15) continue;
      if (fate < 0.55) yield row;
      else if (fate < 0.65) yield { ...row, ...this.#values(table, (column) => column.name === name) };
      else if (fate < 0.75) yield { ...row, ...this.#values(table, (column) => place.includes(column.name)) };
      else
        yield {
          ...row,
          ...this.#values(table, (column) => column.name !== table.changes.instance && this.#chance(0.3)),
        };
    }
    if (table.key.includes('target') && current.size > 0 && this.#chance(0.7)) return;
    for (let made = this.#below(3); made > 0; made--)
      yield { ...this.#values(table, () => true), ...this.#newKey(table) };
  }

  #newKey({ key, part, columns }: Table): Pulled {
    return Object.fromEntries(
      key.map((name, index) => [
        name,
        this.#keyValue(columns.find((column) => column.name === name)!, index === 0 || name === part),
      ]),
    );
  }

  #keyValue({ name, type }: Column, isNeeded: boolean): unknown {
    if (name === 'target') return TARGET;
    if (name === 'ordinal') return null;
    if (!isNeeded && this.#chance(0.2)) return null;
    if (type === 'bigint') return this.#below(3);
    return type === 'json' ? '{"k":"v"}' : this.#pick(['k0', 'k1', 'k2', 'kö3']);
  }

  #values(table: Table, isWanted: (column: Column) => boolean): Pulled {
    const changeable = table.columns.filter(({ name }) => name !== 'target' && !table.key.includes(name));
    return Object.fromEntries(changeable.filter(isWanted).map((column) => [column.name, this.#value(table, column)]));
  }

  #value(table: Table, { name, type }: Column): unknown {
    if (name === 'is_ambiguous') return null;
    if (name === table.members) return this.#members();
    if (name === 'extra') return this.#pick([null, `{"x":1,"DaysRemaining":${this.#below(90)}}`, '{"x":"ü"}']);
    if (name === table.changes.name || name === table.changes.instance)
      return type === 'varchar' ? this.#pick(NAMES) : this.#pick([1, 2, null]);
    if (type === 'varchar') return this.#pick(TEXTS);
    if (type === 'boolean') return this.#pick([true, false, null]);
    if (type === 'timestamptz') return this.#pick(TIMES);
    if (type === 'json') return this.#pick(JSONS);
    if (type.endsWith('[]')) return this.#pick(LISTS);
    return this.#pick([null, 0, 1, 42]);
  }

  #members(): string | null {
    const shuffled = MEMBERS.map((member) => [this.#random(), member] as const).sort(([a], [b]) => a - b);
    return (
      shuffled
        .slice(0, this.#below(MEMBERS.length + 1))
        .map(([, member]) => member)
        .join(', ') || null
    );
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)] as T;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  /** The rows of a table as of a night, without what a service computes. */
  rowsAt({ table, versions }: Truth, night: number): readonly Pulled[] {
    return versions.filter((version) => isValidAt(version, night)).map(({ row }) => withTexts(table, row));
  }

  /** What a person would tell of a night. */
  changesOf(night: number): readonly Told[] {
    return this.truths.flatMap((truth) => this.#compare(truth, night - 1, night));
  }

  /** What a person would tell of two nights, whatever was between them. */
  difference(from: number, to: number): readonly Told[] {
    return this.truths.flatMap((truth) => this.#compare(truth, from, to));
  }

  #compare(truth: Truth, from: number, to: number): readonly Told[] {
    const { table, versions } = truth;
    if (table.changes.renewed.includes('*')) return [];
    const held = new Map(
      versions.filter((version) => isValidAt(version, from)).map((version) => [keyOf(table, version.row), version]),
    );
    const present = versions.filter((version) => isValidAt(version, to));
    const kept = new Set<Version>();
    const told = present.flatMap((version): readonly Told[] => {
      const before = held.get(keyOf(table, version.row));
      if (!before || !isSameThing(table, before.row, version.row)) return this.#tellAppeared(truth, version, from);
      kept.add(before);
      return before === version ? [] : tellColumns(table, before, version);
    });
    const gone = [...held.values()].filter((version) => !kept.has(version));
    return [...told, ...gone.map((version) => tellGone(truth, version, to))];
  }

  #tellAppeared({ table, versions }: Truth, version: Version, from: number): readonly Told[] {
    const answers = this.#answers.get(String(table.source)) ?? [];
    const isKnown = ({ night, unknown }: Answer) =>
      night <= from && !(table.part && unknown.has(version.row[table.part]));
    if (!answers.some(isKnown)) return [];
    const key = keyOf(table, version.row);
    const own = versions.filter(({ row }) => keyOf(table, row) === key);
    if (own.some((held) => held.from <= from && isSameThing(table, held.row, version.row)))
      return [tell(table, version, { change: 'back' })];
    const other = this.#findEarlier(table, versions, version);
    return [tell(table, version, { change: 'new', ...other })];
  }

  #findEarlier(table: Table, versions: readonly Version[], version: Version): Partial<Told> {
    const { instance, name } = table.changes;
    const key = keyOf(table, version.row);
    const ended = versions.filter(({ to }) => to !== undefined && to <= version.from);
    const things = ended.filter(({ row }) => keyOf(table, row) === key && !isSameThing(table, row, version.row));
    const thing = lastOf(things, ({ row }) => String(row[instance ?? '']));
    if (thing) return { old: thing, new: String(version.row[instance ?? '']) };
    if (!name || table.key.includes(name) || version.row[name] === null) return {};
    const present = new Set(
      versions.filter((held) => isValidAt(held, version.from)).map(({ row }) => keyOf(table, row)),
    );
    const namesakes = ended.filter(
      ({ row }) => row[name] === version.row[name] && keyOf(table, row) !== key && !present.has(keyOf(table, row)),
    );
    const namesake = lastOf(namesakes, ({ row }) => keyText(table, row));
    return namesake ? { old: namesake, new: keyText(table, version.row) } : {};
  }
}

/** The row as a service sends it: JSON as values. */
function withJson({ columns }: Table, row: Pulled): Pulled {
  const isJson = new Set(columns.filter(({ type }) => type === 'json').map(({ name }) => name));
  const value = (name: string, text: unknown) =>
    isJson.has(name) && typeof text === 'string' ? JSON.parse(text) : text;
  return Object.fromEntries(Object.entries(row).map(([name, text]) => [name, value(name, text)]));
}

/** The text of the version that ended last; of several, the highest text. */
function lastOf(versions: readonly Version[], toText: (version: Version) => string): string | undefined {
  const latest = Math.max(...versions.map(({ to }) => to ?? 0));
  const texts = versions.filter(({ to }) => to === latest).map(toText);
  return texts.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))).at(-1);
}

function tellColumns(table: Table, before: Version, after: Version): readonly Told[] {
  const [old, current] = [before, after].map(({ row }) => withTexts(table, withSets(row))) as [Pulled, Pulled];
  return [...Object.keys(current)].flatMap((column) => {
    if (table.key.includes(column) || table.changes.renewed.includes(column) || old[column] === current[column])
      return [];
    const texts =
      column === table.members
        ? tellMembers(old[column] as string | null, current[column] as string | null)
        : { old: old[column] as string | null, new: current[column] as string | null };
    if (texts.old === null && texts.new === null) return [];
    return [tell(table, after, { change: nameChange(table, column, before.row, after.row), column, ...texts })];
  });
}

function tellMembers(old: string | null, current: string | null): Pick<Told, 'old' | 'new'> {
  const [left, right] = [old, current].map((text) => text?.split(', ') ?? []) as [string[], string[]];
  const without = (list: readonly string[], others: readonly string[]) => {
    const rest = list.filter((member) => !others.includes(member));
    return rest.length > 0 ? JSON.stringify(rest) : null;
  };
  return { old: without(left, right), new: without(right, left) };
}

function nameChange({ changes: { name, place } }: Table, column: string, before: Pulled, after: Pulled): string {
  const isOther = (of = '') => before[of] !== null && after[of] !== null && before[of] !== after[of];
  if (column === name && isOther(name)) return 'renamed';
  return place.includes(column) && isOther(place[0]) ? 'moved' : 'changed';
}

function tellGone({ table, versions }: Truth, version: Version, to: number): Told {
  const key = keyOf(table, version.row);
  const ends = versions.filter(({ row }) => keyOf(table, row) === key).flatMap((held) => held.to ?? []);
  const at = Math.max(...ends.filter((end) => end <= to));
  return { ...tell(table, version, { change: 'gone' }), at: iso(at) };
}

function tell(table: Table, { row, from }: Version, told: Partial<Told>): Told {
  const name = table.changes.name ? ((row[table.changes.name] ?? null) as string | null) : null;
  const shared = { at: iso(from), table: table.name, key: keyText(table, row), name };
  return { ...shared, change: '', column: null, old: null, new: null, ...told };
}

const isValidAt = ({ from, to }: Version, night: number) => from <= night && (to === undefined || to > night);

const keyOf = ({ key }: Table, row: Pulled) => JSON.stringify(key.map((name) => row[name] ?? null));

function keyText({ key, part }: Table, row: Pulled): string {
  const first = key.filter((name) => name === part);
  const columns = [...first, ...key.filter((name) => name !== part)];
  return columns.flatMap((name) => (row[name] === null ? [] : [String(row[name])])).join('/');
}

function isSameThing({ changes: { instance } }: Table, a: Pulled, b: Pulled): boolean {
  if (!instance || a[instance] === null || b[instance] === null) return true;
  return a[instance] === b[instance];
}

/** Whether a row is no new version. */
function isSame(table: Table, a: Pulled, b: Pulled): boolean {
  return JSON.stringify(withTexts(table, withSets(a))) === JSON.stringify(withTexts(table, withSets(b)));
}

/** The row with its lists sorted: their order says nothing. */
function withSets(row: Pulled): Pulled {
  const sort = (value: unknown) => (Array.isArray(value) ? value.toSorted() : value);
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, sort(value)]));
}

/** The columns whose change makes a version, as texts. */
export function withTexts({ columns, computed }: Table, row: Pulled): Pulled {
  const stored = columns.filter(({ name }) => name !== 'target' && !computed.includes(name));
  return Object.fromEntries(stored.map(({ name }) => [name, toText(name, row[name], computed)]));
}

function toText(name: string, value: unknown, computed: readonly string[]): string | null {
  if (value === null || value === undefined) return null;
  if (name === 'extra' && computed.includes('extra.DaysRemaining'))
    return String(value).replace(/,"DaysRemaining":\d+/u, '');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
