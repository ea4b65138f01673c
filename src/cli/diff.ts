import { findNamed, unknownName } from '../config/suggest.ts';
import { DIFF_FORMATS, type DiffFormat } from '../core/choices.ts';
import { formatTimestamp } from '../core/clock.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { renderDifference, renderKnownSubject, selectChanged, selectTold } from '../warehouse/changes.ts';
import type { Moment } from '../warehouse/moment.ts';
import { type OpenWarehouse, withPublished } from '../warehouse/session.ts';
import { fillParams, type SqlParams } from '../warehouse/sql-params.ts';
import { loadTables, selectPresent, type Table } from '../warehouse/tables.ts';
import type { Row } from '../warehouse/values.ts';
import { type DefineCommand, type Lists, MOMENT, type Switches, type Texts } from './define.ts';
import { type Counts, type Difference, formatMarkdown, formatStat, formatText } from './diff-text.ts';
import { assertTargets, readLocalConfig, readMoment } from './options.ts';
import { printJsonArray } from './output.ts';

export const define: DefineCommand = (command) =>
  command
    .argument('[from]', `${MOMENT}; by default the complete pull before TO`)
    .argument('[to]', 'as FROM; by default the last complete pull')
    .repeatable('--table <name>', 'only this table')
    .repeatable('--target <name>', 'only this target')
    .option('--project <text>', 'only the workspaces of this project, by name or ID')
    .option('--subject <name>', 'only what has this name or ID')
    .option('--stat', 'print numbers only')
    .option('--exit-code', 'exit 5 if there are differences, 1 if that is unknown')
    .choice('--format <format>', 'output format', DIFF_FORMATS)
    // `-7d` is a moment.
    .allowUnknownOption()
    .runs(() => import('./diff.ts'), 'diff');

interface DiffFlags extends Lists<'table' | 'target'>, Texts<'project' | 'subject'>, Switches<'stat' | 'exitCode'> {
  readonly format?: DiffFormat;
}

/** Prints the net difference of two moments, and what is not known of it. */
export async function diff(context: Context, from: string | undefined, to: string | undefined, flags: DiffFlags) {
  const unknown = [from, to].find((word) => word?.startsWith('--')); // commander takes it for a moment, as it does `-7d`
  if (unknown !== undefined) throw new TidemarkError('USAGE', `unknown option ${unknown}`);
  const config = readLocalConfig(context);
  assertTargets(config, flags.target);
  const compare = async (published: OpenWarehouse) => {
    const told = selectTold([...loadTables(published.files).values()]);
    const named = flags.table.map((name) => findNamed(told, 'table', name, 'see `tidemark tables`'));
    const selected = named.length === 0 ? told : [...new Set(named)];
    const tables = await selectPresent(published, selected);
    const moment = (text: string) => readMoment(context, config, published, text);
    const times = await resolveTimes(published, { from, to }, moment, context.clock.now());
    const difference = await readDifference(published, tables, times, flags);
    await print(context, difference, flags);
    return difference;
  };
  // The rows stay in DuckDB, and a section of them is printed at a time: the rest of the process needs little.
  const { counts, gaps } = await withPublished(config, compare, { memoryLimit: config.memoryLimit });
  if (flags.exitCode && counts.length > 0) context.exit(EXIT.findings);
  else if (flags.exitCode && gaps.length > 0) context.exit(EXIT.incomplete);
}

type Times = Pick<Difference, 'from' | 'to'> & { readonly until: Date };
type Given = Readonly<Record<'from' | 'to', string | undefined>>;

/**
 * The times of the two states, those of the last runs until the moments. `until`: up to when sources count that were not pulled. It is later
 * than `to` where no run is between two moments.
 * @throws TidemarkError USAGE where FROM is after TO; INCOMPLETE where there are no two pulls to compare
 */
async function resolveTimes(
  { database, files }: OpenWarehouse,
  given: Given,
  toMoment: (text: string) => Promise<Moment>,
  now: Date,
): Promise<Times> {
  const later = given.to === undefined ? undefined : await toMoment(given.to);
  const params = { to: later?.run.as_of.toISOString() ?? 'infinity' };
  const rows = await database.rows(files.read('diff/last_pulls'), params);
  const [last, previous] = rows.map(({ as_of }) => new Date(String(as_of)));
  const earlier = given.from === undefined ? undefined : await toMoment(given.from);
  const from = earlier?.run.as_of ?? previous;
  // A moment counts runs that failed as well.
  const to = later?.run.as_of ?? (from && last && from > last ? from : last);
  if (!to || !from) throw new TidemarkError('INCOMPLETE', 'there are no two complete pulls to compare');
  const [since, until] = [earlier?.at ?? from, later?.at ?? now];
  if (from > to || (later && since > until))
    throw new TidemarkError('USAGE', `${formatTimestamp(since)} is after ${formatTimestamp(until)}`, {
      hint: 'give the earlier moment first',
    });
  return { from, to, until: from < to || since >= until ? to : until };
}

async function readDifference(
  published: OpenWarehouse,
  tables: readonly Table[],
  { from, to, until }: Times,
  flags: DiffFlags,
): Promise<Difference> {
  const { database, files } = published;
  const { project = null, subject = null } = flags;
  const targets = flags.target.length > 0 ? flags.target : null;
  const times = { from: from.toISOString(), to: to.toISOString() };
  const changed = await selectChanged(published, tables, times);
  const counts = await keepDifference(published, changed, { ...times, targets, project, subject });
  if (counts.length === 0) await assertKnown(published, tables, times, flags);
  const sources = [...new Set(tables.map(({ source }) => String(source)))];
  const gaps = await database.rows(files.read('diff/gaps'), { ...times, to: until.toISOString(), targets, sources });
  const rows = counts.length === 0 ? [] : readSections(published);
  return { from, to, tables, counts, rows, gaps } as unknown as Difference;
}

/** The rows stay in DuckDB, which writes to disk what memory does not hold. */
async function keepDifference({ database, files }: OpenWarehouse, changed: readonly Table[], filters: SqlParams) {
  if (changed.length === 0) return [];
  const parts = { difference: renderDifference(files, changed) };
  await database.script(fillParams(files.render('diff/keep', parts), filters));
  return (await database.script(files.read('diff/counts'))) as unknown as readonly Counts[];
}

/** The rows, of which memory holds two sections at most: one that is printed, and the next. */
async function* readSections({ database, files }: OpenWarehouse): AsyncGenerator<Row> {
  await database.script(files.read('diff/sections'));
  const [last] = await database.script(files.read('diff/last_section'));
  for (let section = 0; section <= Number(last?.section); section++)
    yield* await database.script(fillParams(files.read('diff/rows'), { section }));
}

/** No difference of a name that nothing has would look clean. @throws TidemarkError USAGE */
async function assertKnown(
  { database, files }: OpenWarehouse,
  tables: readonly Table[],
  times: Readonly<Record<'from' | 'to', string>>,
  { project, subject }: DiffFlags,
): Promise<void> {
  if (project !== undefined) {
    const projects = await database.rows(files.read('diff/projects'), times);
    const names = projects.flatMap((row) => [row.project_name, row.project_external_id].map(String));
    if (!names.includes(project)) throw unknownName('project', project, names);
  }
  if (subject === undefined) return;
  const known = await database.script(`${renderKnownSubject(files, tables, subject)};`);
  if (known.length === 0) throw new TidemarkError('USAGE', `nothing has the name or ID ${subject}`);
}

async function print(context: Context, difference: Difference, { format, stat }: DiffFlags): Promise<void> {
  const { json, colors, log, print: write } = context;
  if (json) {
    for (const { target, sources, problem } of difference.gaps) log.warn(`${target}: ${sources}: ${problem}`);
    return printJsonArray(dropActions(difference), write);
  }
  if (stat) return write(formatStat(difference, context));
  for await (const text of format === 'markdown' ? formatMarkdown(difference) : formatText(difference, colors))
    await write(text);
}

async function* dropActions({ rows }: Difference): AsyncGenerator<object> {
  for await (const { action: _, ...row } of rows) yield row;
}
