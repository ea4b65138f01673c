import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { loadDefinitions } from '../pipeline/plugins.ts';
import { applyExitCode, applyPlan, DEFAULT_MAX_FAILURES } from '../remediation/apply.ts';
import { approvePlan } from '../remediation/approve.ts';
import type { Playbook } from '../remediation/define.ts';
import { readLedger, toLedgerRow } from '../remediation/ledger.ts';
import { DEFAULT_LIMITS } from '../remediation/limits.ts';
import { createPlan } from '../remediation/plan.ts';
import { readPlan, writePlan } from '../remediation/plan-file.ts';
import { getPlaybook, loadPlaybooks } from '../remediation/registry.ts';
import { assertTargets, collect, percentage, positiveNumber, readConfig } from './options.ts';
import { plural, writeResult } from './output.ts';
import { formatApplyResult, formatLedger, formatPlan, formatPlaybooks, toPlaybookRow } from './playbook-output.ts';

const HELP = `
A plan is created, reviewed, approved and applied:
  tidemark playbook plan reap-dead-agents -o plan.json
  tidemark playbook show plan.json
  tidemark playbook approve plan.json --by NAME
  tidemark playbook apply plan.json
A file STOP in the data folder stops an apply before its next action.
docs/playbooks.md describes how to write a playbook.
`;

export function registerPlaybook(program: Command, context: () => Context): void {
  const group = program
    .command('playbook')
    .description('plan, approve and apply changes for findings')
    .addHelpText('after', HELP);
  group
    .command('list')
    .description('list the playbooks with their rules and operations')
    .action(() => list(context()));
  group
    .command('plan')
    .description('create a plan; only reads')
    .argument('<name>', 'playbook')
    .option('-o, --output <file>', 'write the plan to a file')
    .option('--max-actions <n>', 'refuse a plan with more actions', positiveNumber, DEFAULT_LIMITS.maxActions)
    .option(
      '--max-percent <p>',
      "refuse a plan that affects more of a target's rows in the table",
      percentage,
      DEFAULT_LIMITS.maxPercent,
    )
    .option('--target <name>', 'only this target; repeatable', collect, [])
    .action((name: string, options: PlanOptions) => plan(context(), name, options));
  group
    .command('show')
    .description('show the actions of a plan, with their outcomes')
    .argument('<file>', 'plan')
    .action((file: string) => show(context(), file));
  group
    .command('approve')
    .description('approve the actions of a plan')
    .argument('<file>', 'plan')
    .requiredOption('--by <name>', 'who approves')
    .option('--irreversible', 'include actions that cannot be undone')
    .action((file: string, options: ApproveOptions) => approve(context(), file, options));
  group
    .command('apply')
    .description('apply an approved plan; run it again to resume')
    .argument('<file>', 'plan')
    .option(
      '--max-failures <n>',
      'stop after this many failed or unconfirmed actions',
      positiveNumber,
      DEFAULT_MAX_FAILURES,
    )
    .action((file: string, options: { readonly maxFailures: number }) => apply(context(), file, options.maxFailures));
  group
    .command('ledger')
    .description('list every started action with its outcome')
    .option('--plan <id>', 'only actions of this plan')
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

/** The configuration and all playbooks, which are validated before any is used. */
async function prepare(context: Context): Promise<{ config: Config; playbooks: readonly Playbook[] }> {
  const config = readConfig(context);
  const { playbooks } = await loadDefinitions(config);
  return { config, playbooks: await loadPlaybooks(config, playbooks) };
}

async function list(context: Context): Promise<void> {
  const { playbooks } = await prepare(context);
  writeResult(context, playbooks.map(toPlaybookRow), () => formatPlaybooks(playbooks, context.colors));
}

async function plan(context: Context, name: string, options: PlanOptions): Promise<void> {
  const { config, playbooks } = await prepare(context);
  const targets = assertTargets(config, options.target);
  const created = await createPlan({
    config,
    context,
    playbook: getPlaybook(playbooks, name),
    limits: options,
    ...(targets.length > 0 && { targets }),
  });
  const file = options.output === undefined ? undefined : resolve(context.cwd, options.output);
  if (file !== undefined) await writePlan(file, created);
  writeResult(context, created, () => formatPlan(created, context.colors));
  if (file !== undefined)
    context.log.info(`plan written to ${options.output}; approve it with \`tidemark playbook approve\``);
}

async function show(context: Context, file: string): Promise<void> {
  const { config } = await prepare(context);
  const shown = await readPlan(resolve(context.cwd, file));
  const entries = await readLedger(config.data);
  writeResult(context, shown, () => formatPlan(shown, context.colors, entries));
}

async function approve(context: Context, file: string, { by, irreversible = false }: ApproveOptions): Promise<void> {
  const now = context.clock.now();
  const approved = await approvePlan(resolve(context.cwd, file), { by, irreversible, now });
  const { plan_id, actions, approval, expires_at } = approved;
  writeResult(
    context,
    { plan_id, actions: actions.length, approval, expires_at },
    () =>
      `plan ${plan_id} with ${plural(actions.length, 'action')} is approved by ${approval?.by}; valid until ${expires_at}\n`,
  );
}

async function apply(context: Context, file: string, maxFailures: number): Promise<void> {
  const { config, playbooks } = await prepare(context);
  const approved = await readPlan(resolve(context.cwd, file));
  const applied = await applyPlan(approved, { config, context, maxFailures, playbooks });
  writeResult(context, applied, () => formatApplyResult(applied, approved, context.colors));
  if (applied.stopped) context.log.warn(`stopped: ${applied.stopped.reason}`);
  context.exit(applyExitCode(applied));
}

async function ledger(context: Context, planId: string | undefined): Promise<void> {
  const { config } = await prepare(context);
  const rows = (await readLedger(config.data))
    .map(toLedgerRow)
    .filter(({ plan_id }) => planId === undefined || plan_id === planId);
  writeResult(context, rows, () => formatLedger(rows, context.colors));
}
