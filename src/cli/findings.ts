import { findNamed } from '../config/suggest.ts';
import { FINDING_STATES, type FindingState, SEVERITIES, type Severity } from '../core/choices.ts';
import { HOUR_MS } from '../core/clock.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { groupBy } from '../core/group-by.ts';
import { shortenText, stripControls } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import { type AssessedView, findAssessmentGaps } from '../run/assessment-gaps.ts';
import { type Acceptance, acceptFindings, assertOpen } from '../tell/findings/evaluate.ts';
import { type Guide, loadGuide, tellMany } from '../tell/findings/guide.ts';
import { atOrAbove, findRule, readRules } from '../tell/findings/rules.ts';
import { withPublished, withWarehouse } from '../warehouse/session.ts';
import type { Row } from '../warehouse/values.ts';
import { type DefineCommand, type Lists, timestamp } from './define.ts';
import { assertTargets, readLocalConfig } from './options.ts';
import { formatTable, formatTime, printJsonArray, type TableStyle, writeResult } from './output.ts';

export const define: DefineCommand = (findings) => {
  findings
    .choice('--state <state>', 'only findings in this state', FINDING_STATES)
    .repeatable('--rule <name>', 'only findings of this rule')
    .repeatable('--target <name>', 'only findings of this target')
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

interface FindingsFlags extends Lists<'rule' | 'target'> {
  readonly state?: FindingState;
  readonly severity?: Severity;
  readonly failOn?: Severity;
}

/** Rules, and those with an invalid header. */
type KnownRules = Readonly<ReturnType<typeof readRules>>;

/** An open warehouse, and the targets and rules that the filters select. */
interface FindingsView extends AssessedView, Pick<KnownRules, 'invalid'> {}

export async function list(context: Context, options: FindingsFlags): Promise<void> {
  const config = readLocalConfig(context);
  await withPublished(config, async ({ database, files }) => {
    const all = config.targets.map(({ name }) => name);
    const targets = options.target.length === 0 ? all : assertTargets(config, options.target);
    const selected = selectRules(readRules(files), options.rule);
    const now = context.clock.now().toISOString();
    const view: FindingsView = { database, files, config, now, targets, ...selected };
    const selection = selectFindings(view, options);
    const times = await database.rows(files.read('warehouse/evaluation_times'), { targets });
    const isEvaluated = times.some(({ evaluated_at }) => evaluated_at !== null);
    if (context.json) await printJsonArray(database.stream(selection.render('rows'), selection.params), context.print);
    else {
      const lines = await database.rows(selection.render('lines'), selection.params);
      const guide = await loadGuide(files, [], config.thresholds);
      const isRecord = options.state === 'accepted' || options.state === 'resolved';
      const gaps = lines.length > 0 || isRecord ? [] : await findAssessmentGaps(view, options.severity ?? 'info');
      const unknown = isEvaluated ? gaps : ['no rule was evaluated'];
      await context.print(formatLines(lines as unknown as readonly FindingLine[], guide, unknown, context));
    }
    warnNotEvaluated(context, times, config.thresholds.staleHours);
    await warnUnassessed(context, view, options);
    if (options.failOn) await gate(context, view, options.failOn, options);
  });
}

/** @throws TidemarkError USAGE naming the closest match; DATA for a rule with an invalid header. */
function selectRules(known: KnownRules, names: readonly string[]): KnownRules {
  if (names.length === 0) return known;
  return { rules: names.map((name) => findRule(known, name) ?? findNamed(known.rules, 'rule', name)), invalid: [] };
}

type Selection = Pick<FindingsFlags, 'severity' | 'rule' | 'state'>;

/** No names select all, also those that no file has any more. */
function toParam(names: readonly string[]): readonly string[] | null {
  return names.length > 0 ? names : null;
}

/** What the options select, in one of three forms. */
function selectFindings({ files, now, targets }: FindingsView, { severity = 'info', rule, state }: Selection) {
  const listed = files.read('warehouse/listed_findings');
  return {
    params: { now, targets, severities: atOrAbove(severity), rules: toParam(rule), state: state ?? null },
    render: (form: 'rows' | 'lines' | 'count') => files.render(`warehouse/finding_${form}`, { listed }),
  };
}

/** Says which targets have rows that no rule has seen: only the run of a job evaluates the rules. Then which were not assessed for long. */
function warnNotEvaluated({ log, clock }: Context, targets: readonly Row[], staleHours: number): void {
  for (const { target, pulled_at, evaluated_at } of targets.filter(({ waits }) => waits)) {
    const since = evaluated_at === null ? 'no rule was ever evaluated' : 'no rule was evaluated since';
    log.warn(`${target}: pulled at ${formatTime(pulled_at)}, and ${since}: \`tidemark run JOB\` evaluates the rules`);
  }
  const since = clock.now().getTime() - staleHours * HOUR_MS;
  const isOld = ({ waits, evaluated_at }: Row) =>
    !waits && evaluated_at !== null && Date.parse(String(evaluated_at)) < since;
  for (const [at, old] of groupBy(targets.filter(isOld), ({ evaluated_at }) => formatTime(evaluated_at)))
    log.warn(`nothing assessed since ${at}: ${old.map(({ target }) => target).join(', ')}`);
}

/** Says which rules of the selection cannot be assessed: their findings are kept, and others may be missing. */
async function warnUnassessed({ log }: Context, view: FindingsView, options: FindingsFlags): Promise<void> {
  const { database, files, targets, invalid } = view;
  for (const { rule, error } of invalid) log.warn(`rule ${rule} cannot be assessed: ${error}`);
  const severities = atOrAbove(options.severity ?? 'info');
  const params = { targets, severities, rules: toParam(options.rule) };
  const rows = await database.rows(files.read('warehouse/list_unassessed'), params);
  for (const { target, reason, since, rules } of rows) {
    const names = (rules as readonly string[]).join(', ');
    log.warn(`${target}: not assessed since ${String(since).slice(0, 10)}: ${names}: ${reason}`);
  }
}

/**
 * Exits 5 if there are findings of at least the severity that are new or open, and otherwise 1 if some may be hidden.
 * `--state new` and `--state open` narrow this to one state; any other state filter does not.
 */
async function gate({ log, exit }: Context, view: FindingsView, failOn: Severity, { rule, state }: FindingsFlags) {
  const states = state === 'new' || state === 'open' ? [state] : ['new', 'open'];
  const { render, params } = selectFindings(view, { severity: failOn, rule });
  const [found] = await view.database.rows(render('count'), { ...params, states });
  const count = Number(found?.findings);
  const gaps = [...(await findAssessmentGaps(view, failOn)), ...view.invalid.map(({ error }) => error)];
  const level = failOn === 'critical' ? failOn : `${failOn} or worse`;
  if (gaps.length > 0) log.warn(`cannot tell whether other findings are ${level}: ${gaps.join('; ')}`);
  if (count > 0) log.error(`${plural(count, 'finding')} ${level}, ${states.join(' or ')}`);
  if (count > 0) exit(EXIT.findings);
  else if (gaps.length > 0) exit(EXIT.incomplete);
}

export async function accept(context: Context, ids: readonly string[], options: Omit<Acceptance, 'ids'>) {
  const config = readLocalConfig(context);
  const [reason, owner] = [options.reason.trim(), options.owner.trim()];
  if (reason === '' || owner === '') throw new TidemarkError('USAGE', '--reason and --owner must not be empty');
  const acceptance = { ids: [...new Set(ids)], reason, owner, until: options.until };
  // Reports an unknown ID before the lock is taken.
  await withPublished(config, (published) => assertOpen(published, acceptance.ids));
  const now = context.clock.now();
  await withWarehouse({ config, purpose: 'findings accept', now, log: context.log }, (warehouse) =>
    acceptFindings(warehouse, acceptance, now),
  );
  const result = { accepted: acceptance.ids, until: acceptance.until.toISOString() };
  writeResult(context, result, () => `accepted until ${formatTime(result.until)}: ${result.accepted.join(', ')}\n`);
}

/** A row of `queries/warehouse/finding_lines.sql`: findings with one cause. */
type FindingLine = Readonly<
  Record<'rule' | 'target' | 'finding_id' | 'title' | 'subject_type' | 'since' | 'states', string> &
    Record<'findings' | 'critical', number> &
    Record<'severity', Severity> & { readonly group_key: string | null; readonly names: readonly string[] }
>;

/** Characters of the reasons: hundreds of targets can have one each. */
const MAX_UNKNOWN = 2000;

/** A line for each cause, followed by the totals. @param unknown why findings may be missing, where there are none */
function formatLines(
  lines: readonly FindingLine[],
  guide: readonly Guide[],
  unknown: readonly string[],
  style: TableStyle,
): string {
  if (lines.length === 0)
    return unknown.length > 0
      ? `unknown: ${shortenText(stripControls(unknown.join('; ')), MAX_UNKNOWN)}\n`
      : 'no findings\n';
  const sum = (column: 'findings' | 'critical') => lines.reduce((total, line) => total + line[column], 0);
  const cells = lines.map((line) => {
    const { severity, states, since, target, rule, title, finding_id, findings } = line;
    const what = findings === 1 ? title : formatCause(line, guide);
    const id = findings === 1 ? finding_id : `${finding_id} +${findings - 1}`;
    return [severity, states, since, target, rule, what, id];
  });
  const labels = ['severity', 'state', 'since', 'target', 'rule', 'what', 'id'];
  const table = formatTable(labels, cells, {
    ...style,
    wholeColumns: ['id'],
    spareColumns: ['rule', 'since', 'target'],
  });
  return `${table}\n${plural(sum('findings'), 'finding')} in ${plural(lines.length, 'line')}, ${sum('critical')} critical\n`;
}

/** `3 volumes of plugin ce9400 have had no snapshot for 7 days (label-printer-spool, …)` */
function formatCause({ names, findings, group_key, rule, subject_type }: FindingLine, guide: readonly Guide[]): string {
  const more = findings > names.length ? ', …' : '';
  const told = guide.find((each) => each.rule === rule) ?? { many: `${subject_type}s{of}` };
  return `${tellMany(String(findings), group_key ?? '', told)} (${names.join(', ')}${more})`;
}
