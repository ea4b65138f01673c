import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { type Config, loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { nearestName } from '../core/yaml-file.ts';
import { sources } from '../sources/index.ts';
import type { Database } from '../warehouse/database.ts';
import { atOrAbove, loadRules, type Rule, SEVERITIES, type Severity } from '../warehouse/find-rules.ts';
import { openPublished } from '../warehouse/session.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { registerAccept } from './findings-accept.ts';
import { type Finding, findingsJson, findingsTable } from './findings-table.ts';

const STATES = ['new', 'open', 'resolved', 'accepted'] as const;

interface Options {
  readonly state?: (typeof STATES)[number];
  readonly rule?: string;
  readonly target?: string;
  readonly severity?: Severity;
  readonly failOn?: Severity;
}

export function registerFindings(program: Command, context: () => Context): void {
  const findings = program
    .command('findings')
    .description('the findings and their life: everything not resolved, worst first')
    .addOption(new Option('--state <state>', 'only those in this state').choices([...STATES]))
    .option('--rule <rule>', 'only those of this rule')
    .option('--target <name>', 'only those of this target')
    .addOption(new Option('--severity <severity>', 'only those at or above it').choices([...SEVERITIES]))
    .addOption(
      new Option(
        '--fail-on <severity>',
        'exit 5 when one at or above it is new or open, 1 when that cannot be known',
      ).choices([...SEVERITIES]),
    )
    .action((options: Options) => list(context(), options));
  registerAccept(findings, context);
}

/** Where the findings are looked at: what the filters leave of the configured targets and the known rules. */
interface View {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly config: Config;
  readonly now: string;
  readonly targets: readonly string[];
  readonly rules: readonly Rule[];
}

async function list(context: Context, options: Options): Promise<void> {
  const config = loadConfig(resolve(context.cwd, context.configFile), context.env, context.redactor);
  const { database, files } = await openPublished(config);
  try {
    const rules = await loadRules(files);
    const targets = chosen(
      'target',
      config.targets.map(({ name }) => name),
      options.target,
    );
    const ruleNames = chosen('rule', [...rules.keys()], options.rule);
    const now = context.clock.now().toISOString();
    const asked = ruleNames.flatMap((name) => rules.get(name) ?? []);
    const view: View = { database, files, config, now, targets, rules: asked };
    const found = await findingsOf(view, options);
    const { stdout, json } = context;
    stdout(json ? findingsJson(found) : findingsTable(found));
    if (options.failOn) await gate(context, view, options.failOn, options);
  } finally {
    database.close();
  }
}

/** All names, or the one asked for. @throws TidemarkError USAGE naming the nearest. */
function chosen(what: string, known: readonly string[], name: string | undefined): readonly string[] {
  if (name === undefined) return known;
  if (known.includes(name)) return [name];
  const nearest = nearestName(name, known);
  throw new TidemarkError('USAGE', `unknown ${what} ${name}`, {
    hint: nearest ? `did you mean ${nearest}?` : `known are ${known.join(', ')}`,
  });
}

async function findingsOf({ database, files, now, targets }: View, options: Options): Promise<readonly Finding[]> {
  const rows = await database.rows(await files.text('warehouse/find_list'), {
    now,
    targets,
    severities: atOrAbove(options.severity ?? 'info'),
    rule: options.rule ?? null,
    state: options.state ?? null,
  });
  return rows as unknown as readonly Finding[];
}

/**
 * Standing findings fail the gate, with `--state new` or `open` those alone; where there are none, so does not knowing. A list of
 * what does not stand is gated on all that does.
 */
async function gate({ log, exit }: Context, view: View, failOn: Severity, { rule, state }: Options): Promise<void> {
  const asked = state === 'new' || state === 'open' ? [state] : ['new', 'open'];
  const found = await findingsOf(view, { severity: failOn, ...(rule !== undefined && { rule }) });
  const standing = found.filter((finding) => asked.includes(finding.state));
  const blind = await blindSpots(view, failOn);
  const reached = failOn === 'critical' ? failOn : `${failOn} or worse`;
  if (blind.length > 0) log.warn(`cannot know whether more is ${reached}: ${blind.join('; ')}`);
  if (standing.length > 0) log.error(`${standing.length} finding(s) ${reached}, ${asked.join(' or ')}`);
  if (standing.length > 0) exit(EXIT.findings);
  else if (blind.length > 0) exit(EXIT.incomplete);
}

/** Why findings that would fail the gate could be missing: sources not complete, rules not assessed, targets never pulled. */
async function blindSpots(view: View, failOn: Severity): Promise<readonly string[]> {
  const { database, files, config, now, rules } = view;
  const able = rules.filter(({ worst }) => atOrAbove(failOn).includes(worst));
  const reliedOn = new Set(able.flatMap((rule) => rule.sources));
  const kinds = new Set(sources.filter(({ name }) => reliedOn.has(name)).map(({ kind }) => kind));
  const targets = config.targets.filter(({ name, kind }) => view.targets.includes(name) && kinds.has(kind));
  const rows = await database.rows(await files.text('warehouse/find_blind'), {
    now,
    targets: JSON.stringify(targets.map(({ name }) => name)),
    stale_hours: config.thresholds.staleHours,
    rules: JSON.stringify(able.map((rule) => ({ rule: rule.name, sources: rule.sources }))),
  });
  return rows.map(({ target, reason }) => `${target}: ${reason}`);
}
