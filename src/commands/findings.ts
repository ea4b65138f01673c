import { type Command, Option } from 'commander';
import type { Config } from '../config/config.ts';
import { unknownName } from '../config/suggest.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { type Acceptance, acceptFindings, assertOpen } from '../findings/accept.ts';
import { atOrAbove, loadRules, type Rule, SEVERITIES, type Severity } from '../findings/rules.ts';
import { loadDefinitions } from '../pipeline/plugins.ts';
import type { Database } from '../warehouse/database.ts';
import { openPublished, withWarehouse } from '../warehouse/session.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { formatFindings, formatFindingsJson, type ListedFinding } from './findings-output.ts';
import { parseTimestampOption, readConfig } from './options.ts';
import { plural, writeResult } from './output.ts';

const STATES = ['new', 'open', 'resolved', 'accepted'] as const;

interface ListOptions {
  readonly state?: (typeof STATES)[number];
  readonly rule?: string;
  readonly target?: string;
  readonly severity?: Severity;
  readonly failOn?: Severity;
}

export function registerFindings(program: Command, context: () => Context): void {
  const findings = program
    .command('findings')
    .description('list findings that are not resolved, worst first')
    .addOption(new Option('--state <state>', 'only findings in this state').choices([...STATES]))
    .option('--rule <rule>', 'only findings of this rule')
    .option('--target <name>', 'only findings of this target')
    .addOption(new Option('--severity <severity>', 'only findings of at least this severity').choices([...SEVERITIES]))
    .addOption(
      new Option(
        '--fail-on <severity>',
        'exit 5 if a finding of at least this severity is new or open, 1 if that is unknown',
      ).choices([...SEVERITIES]),
    )
    .action((options: ListOptions) => list(context(), options));
  registerAccept(findings, context);
}

/** An open warehouse, and the targets and rules that the filters select. */
interface FindingsView {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly config: Config;
  readonly now: string;
  readonly targets: readonly string[];
  readonly rules: readonly Rule[];
}

async function list(context: Context, options: ListOptions): Promise<void> {
  const config = readConfig(context);
  const { database, files } = await openPublished(config);
  try {
    const rules = await loadRules(files);
    const targets = select(
      'target',
      config.targets.map(({ name }) => name),
      options.target,
    );
    const ruleNames = select('rule', [...rules.keys()], options.rule);
    const now = context.clock.now().toISOString();
    const selected = ruleNames.flatMap((name) => rules.get(name) ?? []);
    const view: FindingsView = { database, files, config, now, targets, rules: selected };
    const findings = await listFindings(view, options);
    const { stdout, json, colors } = context;
    stdout(json ? formatFindingsJson(findings) : formatFindings(findings, colors));
    await warnUnassessed(context, view, options);
    if (options.failOn) await gate(context, view, options.failOn, options);
  } finally {
    database.close();
  }
}

/** All known names, or the requested one. @throws TidemarkError USAGE naming the closest match. */
function select(what: string, known: readonly string[], name: string | undefined): readonly string[] {
  if (name === undefined) return known;
  if (known.includes(name)) return [name];
  throw unknownName(what, name, known);
}

async function listFindings(
  { database, files, now, targets }: FindingsView,
  options: ListOptions,
): Promise<readonly ListedFinding[]> {
  const rows = await database.rows(await files.read('warehouse/select_findings'), {
    now,
    targets,
    severities: atOrAbove(options.severity ?? 'info'),
    rule: options.rule ?? null,
    state: options.state ?? null,
  });
  return rows as unknown as readonly ListedFinding[];
}

/** Says which rules of the selection cannot be assessed: their findings are kept, and others may be missing. */
async function warnUnassessed({ log }: Context, view: FindingsView, options: ListOptions): Promise<void> {
  const { database, files, targets } = view;
  const severities = atOrAbove(options.severity ?? 'info');
  const rule = options.rule ?? null;
  const rows = await database.rows(await files.read('warehouse/list_unassessed'), { targets, severities, rule });
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
  { rule, state }: ListOptions,
): Promise<void> {
  const states = state === 'new' || state === 'open' ? [state] : ['new', 'open'];
  const findings = await listFindings(view, { severity: failOn, ...(rule !== undefined && { rule }) });
  const count = findings.filter((finding) => states.includes(finding.state)).length;
  const gaps = await findAssessmentGaps(view, failOn);
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
  const requiredSources = new Set(relevant.flatMap((rule) => rule.sources));
  const { sources } = await loadDefinitions(config);
  const kinds = new Set(sources.filter(({ name }) => requiredSources.has(name)).map(({ kind }) => kind));
  const targets = config.targets.filter(({ name, kind }) => view.targets.includes(name) && kinds.has(kind));
  const rows = await database.rows(await files.read('warehouse/unassessed'), {
    now,
    targets: JSON.stringify(targets.map(({ name }) => name)),
    stale_hours: config.thresholds.staleHours,
    rules: JSON.stringify(relevant.map((rule) => ({ rule: rule.name, sources: rule.sources }))),
  });
  return rows.map(({ target, reason }) => `${target}: ${reason}`);
}

interface AcceptOptions {
  readonly reason: string;
  readonly owner: string;
  readonly until: string;
}

function registerAccept(findings: Command, context: () => Context): void {
  findings
    .command('accept')
    .description('accept findings until a date, or until they get worse')
    .argument('<id...>', 'finding IDs')
    .requiredOption('--reason <text>', 'why')
    .requiredOption('--owner <name>', 'who is responsible')
    .requiredOption('--until <timestamp>', 'when the acceptance ends; a date means 00:00 UTC of that day')
    .action((ids: readonly string[], options: AcceptOptions) => accept(context(), ids, options));
}

async function accept(context: Context, ids: readonly string[], options: AcceptOptions): Promise<void> {
  const config = readConfig(context);
  const acceptance = toAcceptance([...new Set(ids)], options);
  const published = await openPublished(config); // reports an unknown ID before the lock is taken
  try {
    await assertOpen(published.database, published.files, acceptance.ids);
  } finally {
    published.database.close();
  }
  const now = context.clock.now();
  await withWarehouse({ config, purpose: 'findings accept', now, log: context.log }, ({ database, files }) =>
    acceptFindings(database, files, acceptance, now),
  );
  const result = { accepted: acceptance.ids, until: acceptance.until.toISOString() };
  writeResult(context, result, () => `accepted until ${result.until}: ${result.accepted.join(', ')}\n`);
}

function toAcceptance(ids: readonly string[], options: AcceptOptions): Acceptance {
  const reason = options.reason.trim();
  const owner = options.owner.trim();
  const until = parseTimestampOption('--until', options.until);
  if (reason === '' || owner === '') throw new TidemarkError('USAGE', '--reason and --owner must not be empty');
  return { ids, reason, owner, until };
}
