import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT } from '../core/errors.ts';
import { loadDefinitions } from '../pipeline/plugins.ts';
import { applyExitCode, applyPlan, DEFAULT_MAX_FAILURES } from '../remediation/apply.ts';
import { approvePlan } from '../remediation/approve.ts';
import type { Playbook } from '../remediation/define.ts';
import { readLedger, toLedgerRow } from '../remediation/ledger.ts';
import { restoreLedger } from '../remediation/ledger-table.ts';
import { DEFAULT_LIMITS } from '../remediation/limits.ts';
import { createPlan } from '../remediation/plan.ts';
import { type Plan, readPlan, writePlan } from '../remediation/plan-file.ts';
import { findPlanFile, keepPlan } from '../remediation/plan-store.ts';
import { getPlaybook, loadPlaybooks } from '../remediation/registry.ts';
import { settleLedger } from '../remediation/settle-ledger.ts';
import { createUndoPlan } from '../remediation/undo.ts';
import { assertTargets, collect, percentage, positiveNumber, readConfig } from './options.ts';
import { plural, writeResult } from './output.ts';
import { formatApplyResult, formatLedger, formatPlan, formatPlaybooks, toPlaybookRow } from './playbook-output.ts';

const HELP = `
A plan is created, reviewed, approved and applied:
  tidemark playbook plan scope-unused-pools
  tidemark playbook show PLAN
  tidemark playbook approve PLAN --by NAME
  tidemark playbook apply PLAN
PLAN is the ID that \`plan\` prints, the beginning of it, or a file.
\`undo PLAN\` makes a new plan that restores what PLAN changed.
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
    .option('-o, --output <file>', 'write the plan to this file as well')
    .option('--max-actions <n>', 'refuse a plan with more actions', positiveNumber, DEFAULT_LIMITS.maxActions)
    .option(
      '--max-percent <p>',
      `refuse a plan that affects more of a target's rows in the table (default: ${DEFAULT_LIMITS.maxPercent}, or ${DEFAULT_LIMITS.minRows} rows if that is more)`,
      percentage,
    )
    .option('--target <name>', 'only this target; repeatable', collect, [])
    .action((name: string, options: PlanOptions) => plan(context(), name, options));
  group
    .command('show')
    .description('show the actions of a plan, with their outcomes')
    .argument('<plan>', 'ID, beginning of an ID, or file')
    .action((reference: string) => show(context(), reference));
  registerApplying(group, context);
  registerLedger(group, context);
}

function registerApplying(group: Command, context: () => Context): void {
  group
    .command('approve')
    .description('approve the actions of a plan')
    .argument('<plan>', 'ID, beginning of an ID, or file')
    .requiredOption('--by <name>', 'who approves')
    .option('--irreversible', 'include actions that cannot be undone')
    .action((reference: string, options: ApproveOptions) => approve(context(), reference, options));
  group
    .command('apply')
    .description('apply an approved plan; run it again to resume')
    .argument('<plan>', 'ID, beginning of an ID, or file')
    .option(
      '--max-failures <n>',
      'stop after this many failed or unconfirmed actions',
      positiveNumber,
      DEFAULT_MAX_FAILURES,
    )
    .action((reference: string, options: { readonly maxFailures: number }) =>
      apply(context(), reference, options.maxFailures),
    );
  group
    .command('undo')
    .description('create a plan that restores what a plan applied; only reads')
    .argument('<plan>', 'ID, beginning of an ID, or file')
    .option('-o, --output <file>', 'write the new plan to this file as well')
    .action((reference: string, options: { readonly output?: string }) => undo(context(), reference, options.output));
}

interface PlanOptions {
  readonly output?: string;
  readonly maxActions: number;
  readonly maxPercent?: number;
  readonly target: readonly string[];
}

interface ApproveOptions {
  readonly by: string;
  readonly irreversible?: boolean;
}

async function list(context: Context): Promise<void> {
  const { playbooks } = await preparePlaybooks(context);
  writeResult(context, playbooks.map(toPlaybookRow), () => formatPlaybooks(playbooks, context.colors));
}

async function plan(context: Context, name: string, options: PlanOptions): Promise<void> {
  const { config, playbooks } = await preparePlaybooks(context);
  const targets = assertTargets(config, options.target);
  const { maxActions, maxPercent } = options;
  const created = await createPlan({
    config,
    context,
    playbook: getPlaybook(playbooks, name),
    limits: maxPercent === undefined ? { ...DEFAULT_LIMITS, maxActions } : { maxActions, maxPercent, minRows: 0 },
    ...(targets.length > 0 && { targets }),
  });
  await writeNewPlan(config, context, created, options.output);
}

/** Keeps a new plan, and writes it to a file as well if the user names one. */
async function writeNewPlan(
  config: Config,
  context: Context,
  created: Plan,
  output: string | undefined,
): Promise<void> {
  await keepPlan(config, created);
  if (output !== undefined) await writePlan(resolve(context.cwd, output), created);
  writeResult(context, created, () => formatPlan(created, context.colors));
  const where = output === undefined ? '' : ` and written to ${output}`;
  context.log.info(
    `plan ${created.plan_id} is kept in ${config.data}/plans${where}; approve it with \`tidemark playbook approve ${created.plan_id}\``,
  );
}

async function undo(context: Context, reference: string, output: string | undefined): Promise<void> {
  const { config, playbooks } = await preparePlaybooks(context);
  const undone = await readPlan(await findPlanFile(config, context.cwd, reference));
  const created = await createUndoPlan(undone, { config, context, playbooks });
  await writeNewPlan(config, context, created, output);
  if (created.skipped.length > 0) context.exit(EXIT.incomplete);
}

async function show(context: Context, reference: string): Promise<void> {
  const { config } = await preparePlaybooks(context);
  const shown = await readPlan(await findPlanFile(config, context.cwd, reference));
  const entries = await readLedger(config.data);
  writeResult(context, shown, () => formatPlan(shown, context.colors, entries));
}

async function approve(context: Context, reference: string, { by, irreversible = false }: ApproveOptions) {
  const config = readConfig(context);
  const now = context.clock.now();
  const approved = await approvePlan(await findPlanFile(config, context.cwd, reference), { by, irreversible, now });
  await keepPlan(config, approved);
  const { plan_id, actions, approval, expires_at } = approved;
  writeResult(
    context,
    { plan_id, actions: actions.length, approval, expires_at },
    () =>
      `plan ${plan_id} with ${plural(actions.length, 'action')} is approved by ${approval?.by}; valid until ${expires_at}\n`,
  );
}

async function apply(context: Context, reference: string, maxFailures: number): Promise<void> {
  const { config, playbooks } = await preparePlaybooks(context);
  const approved = await readPlan(await findPlanFile(config, context.cwd, reference));
  const applied = await applyPlan(approved, { config, context, maxFailures, playbooks });
  writeResult(context, applied, () => formatApplyResult(applied, approved, context.colors));
  if (applied.stopped) context.log.warn(`stopped: ${applied.stopped.reason}`);
  context.exit(applyExitCode(applied));
}

interface LedgerOptions {
  readonly plan?: string;
  readonly settle?: boolean;
  readonly restore?: boolean;
}

function registerLedger(group: Command, context: () => Context): void {
  group
    .command('ledger')
    .description('list every started action with its outcome')
    .option('--plan <id>', 'only actions of this plan')
    .option('--settle', 'first read unconfirmed actions again and record what became of them')
    .option('--restore', 'write a missing ledger from the table actions')
    .action((options: LedgerOptions) => ledger(context(), options));
}

/** The configuration and all playbooks, which are validated before any is used. */
async function preparePlaybooks(
  context: Context,
): Promise<{ readonly config: Config; readonly playbooks: readonly Playbook[] }> {
  const config = readConfig(context);
  const { playbooks } = await loadDefinitions(config);
  return { config, playbooks: await loadPlaybooks(config, playbooks) };
}

async function ledger(context: Context, { plan: planId, settle = false, restore = false }: LedgerOptions) {
  const { config, playbooks } = await preparePlaybooks(context);
  if (restore) context.log.info(`the ledger is restored: ${plural(await restoreLedger(config, context), 'action')}`);
  if (settle) {
    const settled = await settleLedger({ config, context, playbooks, planId });
    if (settled.some(({ isSettled }) => !isSettled)) context.exit(EXIT.incomplete);
  }
  const rows = (await readLedger(config.data))
    .map(toLedgerRow)
    .filter(({ plan_id }) => planId === undefined || plan_id === planId);
  writeResult(context, rows, () => formatLedger(rows, context.colors));
}
