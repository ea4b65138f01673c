import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { type Config, loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import type { Playbook } from '../playbooks/playbook.ts';
import { applyPlan, DEFAULT_MAX_FAILURES, exitOfApplied } from '../remediation/apply.ts';
import { approvePlan } from '../remediation/approve.ts';
import { DEFAULT_CAPS } from '../remediation/caps.ts';
import { readLedger } from '../remediation/ledger.ts';
import { ledgerRows } from '../remediation/ledger-rows.ts';
import { makePlan } from '../remediation/plan.ts';
import { readPlan, writePlan } from '../remediation/plan-file.ts';
import { loadPlaybooks, playbookNamed } from '../remediation/registry.ts';
import { appliedText, ledgerText, planText, playbookList, playbookRow } from './playbook-text.ts';
import { targetNames } from './pull.ts';

const HOW = `
A plan is made, looked at, approved, applied:
  tidemark playbook plan reap-dead-agents -o plan.json
  tidemark playbook show plan.json
  tidemark playbook approve plan.json --by NAME
  tidemark playbook apply plan.json
A file STOP in the data folder stops an apply before its next action.
CONTRIBUTING.md and docs/playbooks.md show how to write one: a SQL file, a TypeScript file, a line.
`;

const collect = (value: string, previous: readonly string[]) => [...previous, value];

export function registerPlaybook(program: Command, context: () => Context): void {
  const group = program.command('playbook').description('act on findings').addHelpText('after', HOW);
  group
    .command('list')
    .description('the playbooks: rule, operations, whether they can be undone')
    .action(() => list(context()));
  group
    .command('plan')
    .description('what a playbook would do; reads only')
    .argument('<name>', 'playbook')
    .option('-o, --output <file>', 'write the plan there, to be approved and applied')
    .option('--max-actions <n>', 'refuse a plan of more actions', atLeastOne, DEFAULT_CAPS.maxActions)
    .option(
      '--max-percent <p>',
      "refuse a plan that touches more of a target's rows in the table",
      percent,
      DEFAULT_CAPS.maxPercent,
    )
    .option('--target <name>', 'only this target; repeatable', collect, [])
    .action((name: string, options: PlanOptions) => plan(context(), name, options));
  group
    .command('show')
    .description('a plan: what, where, why, since when, whether it can be undone')
    .argument('<file>', 'plan')
    .action((file: string) => show(context(), file));
  group
    .command('approve')
    .description('approve exactly the actions of a plan')
    .argument('<file>', 'plan')
    .requiredOption('--by <name>', 'who approves')
    .option('--irreversible', 'also actions that cannot be undone')
    .action((file: string, options: ApproveOptions) => approve(context(), file, options));
  group
    .command('apply')
    .description('do what an approved plan says; again, to go on where it stopped')
    .argument('<file>', 'plan')
    .option(
      '--max-failures <n>',
      'stop after so many actions that failed or are unconfirmed',
      atLeastOne,
      DEFAULT_MAX_FAILURES,
    )
    .action((file: string, options: { readonly maxFailures: number }) => apply(context(), file, options.maxFailures));
  group
    .command('ledger')
    .description('every action that was ever begun, and its outcome')
    .option('--plan <id>', 'only those of this plan')
    .action((options: { readonly plan?: string }) => ledger(context(), options.plan));
}

interface PlanOptions {
  readonly output?: string;
  readonly maxActions: number;
  readonly maxPercent: number;
  readonly target: readonly string[];
}

interface ApproveOptions {
  readonly by: string;
  readonly irreversible?: boolean;
}

function atLeastOne(text: string): number {
  if (!/^[1-9]\d*$/u.test(text)) throw new InvalidArgumentError('must be a whole number above 0');
  return Number(text);
}

function percent(text: string): number {
  const value = Number(text);
  if (!/^\d+(?:\.\d+)?$/u.test(text) || value <= 0 || value > 100) {
    throw new InvalidArgumentError('must be above 0 and at most 100');
  }
  return value;
}

/** The configuration, and the playbooks, which are all checked before any is used. */
async function prepare(context: Context): Promise<{ config: Config; playbooks: readonly Playbook[] }> {
  const config = loadConfig(resolve(context.cwd, context.configFile), context.env, context.redactor);
  return { config, playbooks: await loadPlaybooks(config) };
}

function print({ json, stdout }: Context, value: unknown, text: () => string): void {
  stdout(json ? `${JSON.stringify(value, null, 2)}\n` : text());
}

async function list(context: Context): Promise<void> {
  const { playbooks } = await prepare(context);
  print(context, playbooks.map(playbookRow), () => playbookList(playbooks));
}

async function plan(context: Context, name: string, options: PlanOptions): Promise<void> {
  const { config, playbooks } = await prepare(context);
  const targets = targetNames(config, options.target);
  const made = await makePlan({
    config,
    context,
    playbook: playbookNamed(playbooks, name),
    caps: options,
    ...(targets.length > 0 && { targets }),
  });
  const file = options.output === undefined ? undefined : resolve(context.cwd, options.output);
  if (file !== undefined) await writePlan(file, made);
  print(context, made, () => planText(made));
  if (file !== undefined)
    context.log.info(`written to ${options.output}; approve it with \`tidemark playbook approve\``);
}

async function show(context: Context, file: string): Promise<void> {
  const { config } = await prepare(context);
  const shown = await readPlan(resolve(context.cwd, file));
  const entries = await readLedger(config.data);
  print(context, shown, () => planText(shown, entries));
}

async function approve(context: Context, file: string, { by, irreversible = false }: ApproveOptions): Promise<void> {
  const now = context.clock.now();
  const approved = await approvePlan(resolve(context.cwd, file), { by, irreversible, now });
  const { plan_id, actions, approval, expires_at } = approved;
  print(
    context,
    { plan_id, actions: actions.length, approval, expires_at },
    () =>
      `plan ${plan_id}, ${actions.length} action(s), is approved by ${approval?.by}; it holds until ${expires_at}\n`,
  );
}

async function apply(context: Context, file: string, maxFailures: number): Promise<void> {
  const { config, playbooks } = await prepare(context);
  const approved = await readPlan(resolve(context.cwd, file));
  const applied = await applyPlan(approved, { config, context, maxFailures, playbooks });
  print(context, applied, () => appliedText(applied, approved));
  if (applied.stopped) context.log.warn(`stopped: ${applied.stopped.reason}`);
  context.exit(exitOfApplied(applied));
}

async function ledger(context: Context, planId: string | undefined): Promise<void> {
  const { config } = await prepare(context);
  const rows = ledgerRows(await readLedger(config.data)).filter(
    ({ plan_id }) => planId === undefined || plan_id === planId,
  );
  print(context, rows, () => ledgerText(rows));
}
