import { SEVERITIES, type Severity } from '../../core/choices.ts';
import { errorMessage, TidemarkError } from '../../core/errors.ts';
import { discoverFiles } from '../../core/paths.ts';
import { NO_POOL_USE } from '../../services/platform/operations.ts';
import { type Database, describeQueryError, MAX_QUERY_MS, type SqlParams } from '../../warehouse/database.ts';
import { quoteLiteral, readHeader, refuseUnknown, type SqlFiles, splitList } from '../../warehouse/sql-files.ts';
import { classifyStorageError } from '../../warehouse/storage.ts';
import { listFilled, loadTables, type Table } from '../../warehouse/tables.ts';

/** A rule as its file in `queries/findings/` declares it; the file's name is the rule's. */
export type Rule = Readonly<ReturnType<typeof parseRule>>;

/** A rule that cannot be evaluated, and why. */
export interface InvalidRule {
  readonly rule: string;
  readonly error: string;
}

/** All rules by name, and those with an invalid header. */
export function readRules(files: SqlFiles) {
  const names = [...discoverFiles(files.roots, 'queries/findings', '.sql').keys()];
  const tables = [...loadTables(files).values()];
  const rules: Rule[] = [];
  const invalid: InvalidRule[] = [];
  for (const name of names) {
    try {
      rules.push(parseRule(name, files.read(`findings/${name}`), tables));
    } catch (error) {
      invalid.push({ rule: name, error: errorMessage(error) });
    }
  }
  return { rules, invalid };
}

/** The rule of a name. @throws TidemarkError DATA if its header is invalid */
export function findRule({ rules, invalid }: ReturnType<typeof readRules>, name: string): Rule | undefined {
  const problem = invalid.find(({ rule }) => rule === name);
  if (problem) throw new TidemarkError('DATA', problem.error);
  return rules.find((rule) => rule.name === name);
}

/** Jobs that follow each other are one night's work. What was read longer ago describes another state of the service. */
const DEFAULT_WITHIN_MINUTES = 60;

/** The lines that a header may have. */
const LINES =
  'rule severity worst subject sources elsewhere within proves asks judges needs many repair repaired_by'.split(' ');

function parseRule(name: string, sql: string, tables: readonly Table[]) {
  const header = readHeader(`findings/${name}`, sql, LINES);
  const line = (key: string): string => header[key] ?? invalidHeader(name, key, 'is missing');
  const severity = parseSeverity(name, 'severity', line('severity'));
  const sources = line('sources') === 'none' ? [] : splitList(header.sources);
  const elsewhere = splitList(header.elsewhere);
  const file = `findings/${name}`;
  const filled = listFilled(tables);
  refuseUnknown(file, 'sources', sources, filled, 'fills no table');
  refuseUnknown(file, 'elsewhere', elsewhere, filled, 'fills no table');
  const read = tables.filter((table) => sources.includes(table.name)); // as an evaluation does
  const columns = new Set(read.flatMap((table) => table.columns.map((column) => column.name)));
  refuseUnknown(file, 'needs', splitList(header.needs), columns, 'is no column of the tables of its sources');
  return {
    name,
    /** What it finds, in one sentence. */
    description: line('rule'),
    /** Of rows without one. */
    severity,
    /** The highest severity that a row may have. */
    worst: header.worst === undefined ? severity : parseSeverity(name, 'worst', header.worst),
    /** The subject type of its findings. */
    subject: line('subject'),
    /** The sources that it reads. It is assessed only if all of them are complete, and of the same time. */
    sources,
    /** Sources of other targets that it reads as well: it is assessed only if those of all of them are complete, and of the same time. */
    elsewhere,
    /** Minutes by which its sources may differ in age if they were pulled by different runs. */
    withinMinutes: header.within === undefined ? DEFAULT_WITHIN_MINUTES : parseWithin(name, header.within),
    /** Sources whose listing must be complete, because the rule concludes from what is not listed. */
    proves: parseSources(name, 'proves', 'complete listing of', header.proves, sources),
    /** Sources whose proof its query reads from `listing_proofs`, because it needs it for some subjects only. */
    asks: parseSources(name, 'asks', 'complete listing of', header.asks, sources),
    /** Sources whose unknown parts its query judges itself: they leave no finding unassessed. */
    judges: parseSources(name, 'judges', 'parts of', header.judges, sources),
    /** The columns of its sources without which it concludes nothing. @default every column that its query names */
    needs: header.needs === undefined ? undefined : splitList(header.needs),
    many: header.many,
    repair: header.repair,
    /** Whether a person repairs what it finds, although a playbook lists it. */
    isRepairedByHand: parseRepairedBy(name, header.repaired_by),
    /** Its query, without the closing semicolon. */
    sql: sql.replace(/;\s*$/u, ''),
  };
}

const UNIT_MINUTES = { minute: 1, hour: 60, day: 24 * 60 };

/** `-- within: 2 hours` */
function parseWithin(name: string, text: string): number {
  const [, count, unit] = /^(\d+) (minute|hour|day)s?$/u.exec(text) ?? [];
  if (count === undefined) return invalidHeader(name, 'within', 'is not a duration such as `2 hours`');
  return Number(count) * UNIT_MINUTES[unit as keyof typeof UNIT_MINUTES];
}

function parseRepairedBy(name: string, text: string | undefined): boolean {
  if (text !== undefined && text !== 'hand') invalidHeader(name, 'repaired_by', 'is not `hand`');
  return text === 'hand';
}

/** `-- proves: complete listing of volumes, external_volumes` */
function parseSources(name: string, key: string, what: string, text: string | undefined, sources: readonly string[]) {
  if (text === undefined) return [];
  const [, list] = new RegExp(`^${what} (\\w+(?:, ?\\w+)*)$`, 'u').exec(text) ?? [];
  if (list === undefined) return invalidHeader(name, key, `is not \`${what} SOURCE, …\``);
  const listed = splitList(list);
  const missing = listed.filter((source) => !sources.includes(source));
  if (missing.length === 0) return listed;
  return invalidHeader(name, key, `names ${missing.join(', ')}, which is not in \`sources\``);
}

function parseSeverity(name: string, key: string, text: string): Severity {
  return (
    SEVERITIES.find((severity) => severity === text) ??
    invalidHeader(name, key, `is not one of ${SEVERITIES.join(', ')}`)
  );
}

function invalidHeader(name: string, key: string, what: string): never {
  throw new TidemarkError('DATA', `queries/findings/${name}.sql: the header line \`-- ${key}: …\` ${what}`);
}

const RULE_MACROS = [
  'semver_key',
  'iso_time',
  'one_line',
  'agent_pool_users',
  'full_source',
  'named_uses',
  'named_workspaces',
  'versions_in_use_behind',
  'versions_in_use_refused',
  'management_policies',
  'authority_severity',
  'checks_found',
  'released_uses',
  'unlisted_plugins',
] as const;

/** The statements that make the macros for one connection, and the table that several of them read. */
export function renderRuleMacros(files: SqlFiles): readonly string[] {
  const parts = { scope: 'temp ', no_use: quoteLiteral(NO_POOL_USE) };
  return RULE_MACROS.map((name) => files.render(`warehouse/${name}`, parts));
}

/** Lines of `queries/warehouse/evaluate_rule.sql` before the rule. */
const LINES_BEFORE_RULE = 4;

/**
 * Evaluates rules into the temporary table `candidates`.
 * @returns the rules that fail
 * @throws TidemarkError for a failure of the storage
 */
export async function runRules(
  database: Database,
  files: SqlFiles,
  rules: readonly Rule[],
  params: SqlParams,
  limitMs = MAX_QUERY_MS,
): Promise<InvalidRule[]> {
  const failed: InvalidRule[] = [];
  for (const { name, sql } of rules) {
    const query = files.render('warehouse/evaluate_rule', { rows: sql });
    await database.rows(query, { ...params, rule: name }, limitMs).catch((error: unknown) => {
      if (classifyStorageError(error)) throw error;
      failed.push({ rule: name, error: describeQueryError(`findings/${name}`, error, LINES_BEFORE_RULE) });
    });
  }
  return failed;
}

/** This severity and the higher ones. */
export function atOrAbove(severity: Severity): readonly Severity[] {
  return SEVERITIES.slice(SEVERITIES.indexOf(severity));
}
