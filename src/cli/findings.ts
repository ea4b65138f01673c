import type { Config } from '../config/config.ts';
import { findNamed } from '../config/suggest.ts';
import { FINDING_STATES, type FindingState, SEVERITIES, type Severity } from '../core/choices.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { groupBy } from '../core/group-by.ts';
import { plural } from '../core/plural.ts';
import { loadDefinitions } from '../run/plugins/index.ts';
import { type Acceptance, acceptFindings, assertOpen } from '../tell/findings/evaluate.ts';
import { type Guide, loadGuide, shownSince, tellMany } from '../tell/findings/guide.ts';
import { atOrAbove, findRule, type InvalidRule, type Rule, readRules } from '../tell/findings/rules.ts';
import { type OpenWarehouse, withPublished, withWarehouse } from '../warehouse/session.ts';
import type { Row } from '../warehouse/values.ts';
import { type DefineCommand, type Flags, timestamp } from './define.ts';
import { assertTargets, readLocalConfig } from './options.ts';
import { formatJsonArray, formatTable, formatTime, type TableStyle, writeResult } from './output.ts';

export const define: DefineCommand = (findings) => {
  findings
    .choice('--state <state>', 'only findings in this state', FINDING_STATES)
    .option('--rule <name>', 'only findings of this rule')
    .option('--target <name>', 'only findings of this target')
    .choice('--severity <severity>', 'only findings of at least this severity', SEVERITIES)
    .choice(
      '--fail-on <severity>',
      'exit 5 if a finding of at least this severity is new or open, 1 if that is unknown',
      SEVERITIES,
    )
    .runs(() => import('./findings.ts'), 'list');
  findings
    .command('accept')
    .argument('<id...>', 'finding IDs')
    .requiredOption('--reason <text>', 'why')
    .requiredOption('--owner <name>', 'who is responsible')
    .requiredOption('--until <timestamp>', 'when the acceptance ends; a date means 00:00 UTC of that day', timestamp)
    .runs(() => import('./findings.ts'), 'accept');
  findings
    .command('explain')
    .argument('<id>', 'finding ID, or its beginning')
    .runs(() => import('./explain.ts'), 'explain');
};

interface FindingsFlags extends Flags<{ text: 'rule' | 'target' }> {
  readonly state?: FindingState;
  readonly severity?: Severity;
  readonly failOn?: Severity;
}

/** An open warehouse, and the targets and rules that the filters select. */
interface FindingsView extends OpenWarehouse {
  readonly config: Config;
  readonly now: string;
  readonly targets: readonly string[];
  readonly rules: readonly Rule[];
  /** Rules that the filters select, as far as their files tell. */
  readonly invalid: readonly InvalidRule[];
}

export async function list(context: Context, options: FindingsFlags): Promise<void> {
  const config = readLocalConfig(context);
  await withPublished(config, async ({ database, files }) => {
    const all = config.targets.map(({ name }) => name);
    const targets = options.target === undefined ? all : assertTargets(config, [options.target]);
    const selected = selectRules(readRules(files), options.rule);
    const now = context.clock.now().toISOString();
    const view: FindingsView = { database, files, config, now, targets, ...selected };
    const findings = await listFindings(view, options);
    const times = await database.rows(files.read('warehouse/evaluation_times'), { targets });
    const isEvaluated = times.some(({ evaluated_at }) => evaluated_at !== null);
    if (context.json) for await (const text of formatJsonArray(findings)) await context.print(text);
    else context.stdout(formatFindings(findings, await loadGuide(files, [], config.thresholds), isEvaluated, context));
    warnNotEvaluated(context, times);
    await warnUnassessed(context, view, options);
    if (options.failOn) await gate(context, view, options.failOn, options);
  });
}

/** @throws TidemarkError USAGE naming the closest match; DATA for a rule with an invalid header. */
function selectRules(
  known: ReturnType<typeof readRules>,
  name: string | undefined,
): Pick<FindingsView, 'rules' | 'invalid'> {
  if (name === undefined) return known;
  return { rules: [findRule(known, name) ?? findNamed(known.rules, 'rule', name)], invalid: [] };
}

async function listFindings(
  { database, files, now, targets }: FindingsView,
  options: FindingsFlags,
): Promise<readonly ListedFinding[]> {
  const rows = await database.rows(files.read('warehouse/select_findings'), {
    now,
    targets,
    severities: atOrAbove(options.severity ?? 'info'),
    rule: options.rule ?? null,
    state: options.state ?? null,
  });
  return rows as unknown as readonly ListedFinding[];
}

/** Says which targets have rows that no rule has seen: only the run of a job evaluates the rules. */
function warnNotEvaluated({ log }: Context, targets: readonly Row[]): void {
  for (const { target, pulled_at, evaluated_at } of targets.filter(({ waits }) => waits)) {
    const since = evaluated_at === null ? 'no rule was ever evaluated' : 'no rule was evaluated since';
    log.warn(`${target}: pulled at ${formatTime(pulled_at)}, and ${since}: \`tidemark run JOB\` evaluates the rules`);
  }
}

/** Says which rules of the selection cannot be assessed: their findings are kept, and others may be missing. */
async function warnUnassessed({ log }: Context, view: FindingsView, options: FindingsFlags): Promise<void> {
  const { database, files, targets, invalid } = view;
  for (const { rule, error } of invalid) log.warn(`rule ${rule} cannot be assessed: ${error}`);
  const severities = atOrAbove(options.severity ?? 'info');
  const rule = options.rule ?? null;
  const rows = await database.rows(files.read('warehouse/list_unassessed'), { targets, severities, rule });
  for (const { target, reason, since, rules } of rows) {
    const names = (rules as readonly string[]).join(', ');
    log.warn(`${target}: not assessed since ${String(since).slice(0, 10)}: ${names}: ${reason}`);
  }
}

/**
 * Exits 5 if there are findings of at least the severity that are new or open, and otherwise 1 if some may be hidden.
 * `--state new` and `--state open` narrow this to one state; any other state filter does not.
 */
async function gate(
  { log, exit }: Context,
  view: FindingsView,
  failOn: Severity,
  { rule, state }: FindingsFlags,
): Promise<void> {
  const states = state === 'new' || state === 'open' ? [state] : ['new', 'open'];
  const findings = await listFindings(view, { severity: failOn, ...(rule !== undefined && { rule }) });
  const count = findings.filter((finding) => states.includes(finding.state)).length;
  const gaps = [...(await findAssessmentGaps(view, failOn)), ...view.invalid.map(({ error }) => error)];
  const level = failOn === 'critical' ? failOn : `${failOn} or worse`;
  if (gaps.length > 0) log.warn(`cannot tell whether other findings are ${level}: ${gaps.join('; ')}`);
  if (count > 0) log.error(`${plural(count, 'finding')} ${level}, ${states.join(' or ')}`);
  if (count > 0) exit(EXIT.findings);
  else if (gaps.length > 0) exit(EXIT.incomplete);
}

/** Why findings of this severity may be missing: incomplete sources, rules without an assessment, targets never pulled. */
async function findAssessmentGaps(view: FindingsView, failOn: Severity): Promise<readonly string[]> {
  const { database, files, config, now, rules } = view;
  const relevant = rules.filter(({ worst }) => atOrAbove(failOn).includes(worst));
  const requiredSources = new Set(relevant.flatMap((rule) => [...rule.sources, ...rule.elsewhere]));
  const { sources } = await loadDefinitions(config, {}, () => false);
  const kinds = new Set(sources.filter(({ name }) => requiredSources.has(name)).map(({ kind }) => kind));
  const targets = config.targets.filter(({ name, kind }) => view.targets.includes(name) && kinds.has(kind));
  const rows = await database.rows(files.read('warehouse/unassessed'), {
    now,
    targets: JSON.stringify(targets.map(({ name }) => name)),
    stale_hours: config.thresholds.staleHours,
    rules: JSON.stringify(
      relevant.map(({ name, sources: own, elsewhere }) => ({ rule: name, sources: own, elsewhere })),
    ),
  });
  return rows.map(({ target, reason }) => `${target}: ${reason}`);
}

export async function accept(
  context: Context,
  ids: readonly string[],
  options: Omit<Acceptance, 'ids'>,
): Promise<void> {
  const config = readLocalConfig(context);
  const [reason, owner] = [options.reason.trim(), options.owner.trim()];
  if (reason === '' || owner === '') throw new TidemarkError('USAGE', '--reason and --owner must not be empty');
  const acceptance = { ids: [...new Set(ids)], reason, owner, until: options.until };
  // Reports an unknown ID before the lock is taken.
  await withPublished(config, ({ database, files }) => assertOpen(database, files, acceptance.ids));
  const now = context.clock.now();
  await withWarehouse({ config, purpose: 'findings accept', now, log: context.log }, ({ database, files }) =>
    acceptFindings(database, files, acceptance, now),
  );
  const result = { accepted: acceptance.ids, until: acceptance.until.toISOString() };
  writeResult(context, result, () => `accepted until ${formatTime(result.until)}: ${result.accepted.join(', ')}\n`);
}

/**
 * The columns that the listing uses of `queries/warehouse/select_findings.sql`; times are ISO 8601. `group_key` is null where the finding
 * has no group.
 */
type ListedFinding = Readonly<
  Record<'finding_id' | 'target' | 'rule' | 'subject_type' | 'subject_id' | 'title' | 'state' | 'opened_at', string> &
    Record<'subject_name' | 'state_since' | 'unassessed_since' | 'accepted_until' | 'group_key', string | null> &
    Record<'severity', Severity>
>;

/** A line for each cause, in the order of the rows, followed by the totals. */
function formatFindings(
  findings: readonly ListedFinding[],
  guide: readonly Guide[],
  isEvaluated: boolean,
  style: TableStyle,
): string {
  if (findings.length === 0) return isEvaluated ? 'no findings\n' : 'unknown: no rule was evaluated\n';
  const toCause = ({ rule, target, group_key, finding_id }: ListedFinding) =>
    JSON.stringify([rule, target, group_key ?? finding_id]);
  const lines = [...groupBy(findings, toCause).values()].map((group) => toCells(group, guide));
  const critical = findings.filter(({ severity }) => severity === 'critical').length;
  const labels = ['severity', 'state', 'since', 'target', 'rule', 'what', 'id'];
  const columns = { statusColumns: ['severity', 'state'], wholeColumns: ['id'], spareColumns: ['rule'] };
  const table = formatTable(labels, lines, { ...style, ...columns });
  return `${table}\n${plural(findings.length, 'finding')} in ${plural(lines.length, 'line')}, ${critical} critical\n`;
}

type Group = readonly [ListedFinding, ...ListedFinding[]];

const MAX_NAMES = 3;

function toCells(group: Group, guide: readonly Guide[]): readonly string[] {
  const [first, ...others] = group;
  const since = group.map(shownSince).sort()[0] ?? '';
  const what = others.length === 0 ? first.title : formatGroupTitle(group, guide);
  const id = others.length === 0 ? first.finding_id : `${first.finding_id} +${others.length}`;
  return [first.severity, formatStates(group), since.slice(0, 10), first.target, first.rule, what, id];
}

/** `3 volumes of plugin ce9400 have had no snapshot for 7 days (label-printer-spool, …)` */
function formatGroupTitle(group: Group, guide: readonly Guide[]): string {
  const named = group.slice(0, MAX_NAMES).map(({ subject_name, subject_id }) => subject_name ?? subject_id);
  const more = group.length > MAX_NAMES ? ', …' : '';
  const [{ group_key, rule, subject_type }] = group;
  const told = guide.find((each) => each.rule === rule) ?? { many: `${subject_type}s{of}` };
  return `${tellMany(String(group.length), group_key ?? '', told)} (${named.join(', ')}${more})`;
}

/** `open`, `accepted until 2027-03-31`, `new 2, open 38`; a `?` marks a state that could not be assessed again. */
function formatStates(group: Group): string {
  const states = [...groupBy(group, formatState)];
  return states.map(([state, same]) => (states.length === 1 ? state : `${state} ${same.length}`)).join(', ');
}

function formatState({ state, accepted_until, unassessed_since }: ListedFinding): string {
  const until = state === 'accepted' && accepted_until ? ` until ${accepted_until.slice(0, 10)}` : '';
  return `${state}${until}${unassessed_since ? '?' : ''}`;
}
