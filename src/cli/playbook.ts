import { type ExecFileException, execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { Option } from 'commander';
import { applyExitCode, applyPlan, findFinishedResult } from '../act/apply.ts';
import {
  approvalStatement,
  approvePlan,
  assertApprovable,
  countedApprovals,
  explainDoubts,
  isPlanner,
  SIGNATURE_NAMESPACE,
} from '../act/approvals.ts';
import { assertAfterLedger } from '../act/ledger-file.ts';
import { readLedger } from '../act/ledger-table.ts';
import { createPlan } from '../act/plan.ts';
import { type Plan, writePlan } from '../act/plan-file.ts';
import { findPlan, keepPlan, setPlanAside } from '../act/plan-store.ts';
import { summarizePlaybooks } from '../act/registry.ts';
import { createUndoPlan } from '../act/undo.ts';
import { normalizeApprover } from '../config/approvers.ts';
import type { Config } from '../config/config.ts';
import { findNamed } from '../config/suggest.ts';
import { DEFAULT_ACCEPT_DAYS, DEFAULT_LIMITS, DEFAULT_MAX_FAILURES } from '../core/choices.ts';
import type { Context } from '../core/context.ts';
import { EXIT, errorMessage, TidemarkError } from '../core/errors.ts';
import { readNamedFile } from '../core/fs.ts';
import { stripControls } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import { findAssessmentGaps } from '../run/assessment-gaps.ts';
import { readRules } from '../tell/findings/rules.ts';
import { withPublished } from '../warehouse/session.ts';
import type { DefineCommand, Lists, Switches, Texts } from './define.ts';
import { days, percentage, positiveNumber } from './define.ts';
import { assertTargets, readConfig, readLocalConfig, readPlaybooks } from './options.ts';
import { formatTime, resolveOutput, writeResult } from './output.ts';
import { formatActions, formatApplyResult, formatFinished, formatPlan, formatPlaybooks } from './playbook-output.ts';

const HELP = `
PLAN is the ID that \`plan\` prints, the beginning of it, or a file.
\`undo PLAN\` makes a new plan that restores what PLAN changed.
A file STOP in the data folder stops an apply before its next action.
docs/library.md describes how to write a playbook.`;

const PRINT = 'print what to sign with `ssh-keygen -Y sign -n tidemark-plan`, and approve nothing';

export const define: DefineCommand = (playbook) => {
  const load = () => import('./playbook.ts');
  const loadLedger = () => import('./playbook-ledger.ts');
  const defineForPlan = (name: string) => playbook.command(name).argument('<plan>', 'ID, beginning of an ID, or file');
  playbook.command('list').runs(load, 'list');
  playbook
    .command('plan')
    .argument('<name>', 'playbook')
    .option('-o, --output <file>', 'write the plan to this file as well')
    .option('--max-actions <n>', 'refuse a plan with more actions', positiveNumber, DEFAULT_LIMITS.maxActions)
    .option(
      '--max-percent <p>',
      `refuse a plan that affects more of a target's rows in the table (default: ${DEFAULT_LIMITS.maxPercent}, or ${DEFAULT_LIMITS.minRows} rows if that is more)`,
      percentage,
    )
    .repeatable('--target <name>', 'only this target')
    .repeatable('--finding <id>', 'only this finding')
    .repeatable('--subject <name>', 'only findings of this subject')
    .option('--limit <n>', 'only so many findings: the most severe first, then by weight and name', positiveNumber)
    .runs(load, 'plan');
  defineForPlan('show').runs(load, 'show');
  defineForPlan('approve')
    .requiredOption('--by <name>', 'who approves')
    .option('--irreversible', 'include actions that cannot be undone')
    .option('--key <file>', 'sign with this SSH key, or with the agent where it is a public key; needs ssh-keygen')
    .addOption(new Option('--signature <file>', 'the signature of what --print prints').conflicts('key'))
    .addOption(new Option('--print', PRINT).conflicts(['key', 'signature']))
    .runs(load, 'approve');
  const failures = 'stop after this many failed or unconfirmed actions';
  defineForPlan('apply')
    .option('--max-failures <n>', failures, positiveNumber, DEFAULT_MAX_FAILURES)
    .runs(load, 'apply');
  defineForPlan('undo')
    .option('-o, --output <file>', 'write the new plan to this file as well')
    .option(
      '--accept-days <n>',
      'accept the findings for so long once they are undone; 0 to let the next job apply the same again',
      days,
      DEFAULT_ACCEPT_DAYS,
    )
    .runs(load, 'undo');
  playbook
    .command('ledger')
    .option('--plan <id>', 'only actions of this plan')
    .option('--settle', 'first read unconfirmed actions again and record what became of them')
    .option('--restore', 'write a ledger that is missing or refused from the table actions')
    .option('--accept', 'take a ledger that is refused as it is')
    .runs(loadLedger, 'ledger')
    .command('verify')
    .runs(loadLedger, 'verify');
  playbook.addHelpText('after', HELP);
};

interface PlanFlags extends Lists<'target' | 'finding' | 'subject'>, Texts<'output'> {
  readonly maxActions: number;
  readonly maxPercent?: number;
  readonly limit?: number;
}

interface ApproveFlags extends Texts<'key' | 'signature'>, Switches<'irreversible' | 'print'> {
  readonly by: string;
}

export async function list(context: Context): Promise<void> {
  const { playbooks } = await readPlaybooks(context);
  writeResult(context, summarizePlaybooks(playbooks), () => formatPlaybooks(playbooks, context));
}

export async function plan(context: Context, name: string, options: PlanFlags): Promise<void> {
  await withOutput(context, options.output, async () => {
    const { config, playbooks } = await readPlaybooks(context);
    const playbook = findNamed(playbooks, 'playbook', name);
    const targets = assertTargets(config, options.target);
    const { maxActions, maxPercent, finding: findings, subject: subjects, limit } = options;
    const isChosen = findings.length + subjects.length > 0 || limit !== undefined;
    const { plan: created, exceeded } = await createPlan({
      config,
      context,
      playbook,
      limits: maxPercent === undefined ? { ...DEFAULT_LIMITS, maxActions } : { maxActions, maxPercent, minRows: 0 },
      ...(targets.length > 0 && { targets }),
      ...(isChosen && { choice: { findings: [...findings], subjects: [...subjects], limit: limit ?? null } }),
    });
    if (exceeded !== null) {
      throw new TidemarkError('UNSAFE', `no plan was made: ${exceeded}`, {
        hint: 'plan the worst of them with --limit, or some with --finding, --subject or --target; raise the limit if this is intended',
      });
    }
    await writeNewPlan(config, context, created, options.output);
    await warnUnknown(context, config, playbook.rule, targets);
  });
}

/** Says why the rule may find more than the plan has: a plan without actions would look as if there were nothing to do. */
async function warnUnknown(context: Context, config: Config, rule: string, given: readonly string[]): Promise<void> {
  const targets = given.length > 0 ? given : config.targets.map(({ name }) => name);
  const now = context.clock.now().toISOString();
  const gaps = await withPublished(config, async ({ database, files }) => {
    const rules = readRules(files).rules.filter(({ name }) => name === rule);
    return findAssessmentGaps({ database, files, config, now, targets, rules }, 'info');
  });
  if (gaps.length > 0) context.log.warn(`${rule} may find more: ${gaps.join('; ')}`);
}

/** Makes sure that `output` holds no earlier plan where `create` fails, and that no approved plan is overwritten. */
async function withOutput(context: Context, output: string | undefined, create: () => Promise<void>): Promise<void> {
  if (output !== undefined) resolveOutput(context, readLocalConfig(context), output);
  await create().catch(async (error: unknown) => {
    if (output !== undefined) await setOutputAside(context, output, () => false);
    throw error;
  });
}

async function setOutputAside(context: Context, output: string, isKept: (plan: Plan) => boolean): Promise<void> {
  const file = resolve(context.cwd, output);
  const aside = await setPlanAside(file, isKept);
  if (aside !== undefined) context.log.warn(`${output} held an earlier plan, which is now in ${aside}`);
}

/** Keeps a new plan, and writes it to a file as well if the user names one. */
async function writeNewPlan(config: Config, context: Context, created: Plan, output: string | undefined) {
  await keepPlan(config, created);
  if (output !== undefined) {
    await setOutputAside(context, output, ({ approvals }) => approvals.length === 0);
    await writePlan(resolve(context.cwd, output), created);
  }
  writeResult(context, created, () => formatPlan(created, context));
  const { plan_id, actions } = created;
  const where = output === undefined ? '' : ` and written to ${output}`;
  context.log.info(`plan ${plan_id} is kept in ${config.data}/plans${where}`);
  const remaining = created.selection?.remaining ?? 0;
  if (remaining > 0)
    context.log.info(`${plural(remaining, 'finding')} of ${created.playbook} remain, which were not selected`);
  if (actions.length === 0) return;
  context.log.info(
    `review it with \`tidemark playbook show ${plan_id}\`, then approve it with \`tidemark playbook approve ${plan_id}${listApproval(config, created)}\``,
  );
}

/** What `approve` demands for this plan. */
function listApproval({ approvers }: Config, plan: Plan): string {
  const people = approvers?.people.filter((person) => !isPlanner(person, plan));
  const by = approvers ? `"${people?.[0]?.name ?? 'NAME'}" --key FILE` : 'NAME';
  return ` --by ${by}${plan.actions.some(({ irreversible }) => irreversible) ? ' --irreversible' : ''}`;
}

type UndoFlags = Texts<'output'> & { readonly acceptDays: number };

export async function undo(context: Context, reference: string, { output, acceptDays }: UndoFlags): Promise<void> {
  await withOutput(context, output, async () => {
    const { config, playbooks } = await readPlaybooks(context);
    const { plan: undone } = await findPlan(config, context.cwd, reference);
    const created = await createUndoPlan(undone, { config, context, playbooks, acceptDays });
    await writeNewPlan(config, context, created, output);
    if (created.skipped.length > 0) context.exit(EXIT.incomplete);
  });
}

export async function show(context: Context, reference: string): Promise<void> {
  const { config, playbooks } = await readPlaybooks(context);
  const { plan: shown } = await findPlan(config, context.cwd, reference);
  const entries = [...(await readLedger(config)).values()];
  const details = () => formatActions(shown, playbooks, config, context);
  writeResult(context, shown, () =>
    formatPlan(shown, context, { entries, details: details(), doubts: explainDoubts(shown, config) }),
  );
}

export async function approve(context: Context, reference: string, flags: ApproveFlags): Promise<void> {
  const config = readConfig(context);
  await assertAfterLedger(config.data, context.clock);
  const { file, plan: given } = await findPlan(config, context.cwd, reference);
  const { by, irreversible = false } = flags;
  const options = { config, by, irreversible, now: context.clock.now() };
  assertApprovable(given, options);
  const statement = approvalStatement(given, { by: normalizeApprover(by), irreversible });
  if (flags.print) return context.stdout(statement);
  const signature = await obtainSignature(context, flags, statement);
  const approved = await approvePlan(file, { ...options, digest: given.digest, signature });
  const { plan_id, actions, approvals, expires_at } = approved;
  const counted = countedApprovals(approved, config).map((each) => each.by);
  const people = stripControls(counted.join(', '));
  const text = `plan ${plan_id} with ${plural(actions.length, 'action')} is approved by ${people}; valid until ${formatTime(expires_at)}\n`;
  writeResult(context, { plan_id, actions: actions.length, approvals, expires_at }, () => text);
  context.log.info(`apply it with \`tidemark playbook apply ${plan_id}\``);
}

/** More than any signature file has, and any message of ssh-keygen. */
const MAX_SIGNATURE_KIBIBYTES = 4;

/** The signature of an approval, which is in a file or is made with a key; undefined where none is asked for. */
async function obtainSignature(context: Context, { key, signature }: ApproveFlags, statement: string) {
  if (signature !== undefined)
    return readNamedFile(resolve(context.cwd, signature), {
      maxKibibytes: MAX_SIGNATURE_KIBIBYTES,
      hint: 'name the signature file',
    });
  return key === undefined ? undefined : signWithKey(context, resolve(context.cwd, key), statement);
}

/** As git does it: `ssh-keygen` asks for a passphrase, and uses the agent where the file is that of a public key. */
async function signWithKey({ signal }: Context, key: string, statement: string): Promise<string> {
  const words = ['-Y', 'sign', '-n', SIGNATURE_NAMESPACE, '-f', key];
  const signing = promisify(execFile)('ssh-keygen', words, { signal, maxBuffer: MAX_SIGNATURE_KIBIBYTES * 1024 });
  // It may end before it reads what to sign, and then says why.
  signing.child.stdin?.on('error', () => {}).end(statement);
  try {
    return (await signing).stdout;
  } catch (cause) {
    const reason = (cause as ExecFileException).stderr?.trim() || errorMessage(cause);
    throw new TidemarkError('USAGE', `ssh-keygen did not sign with ${key}: ${reason}`, {
      cause,
      hint: 'or sign elsewhere what --print prints, and pass the result with --signature FILE',
    });
  }
}

export async function apply(context: Context, reference: string, { maxFailures }: { readonly maxFailures: number }) {
  const { config, playbooks } = await readPlaybooks(context);
  const { plan: approved } = await findPlan(config, context.cwd, reference);
  const finished = await findFinishedResult(approved, config);
  const applied = finished ?? (await applyPlan(approved, { config, context, maxFailures, playbooks }));
  const format = () => (finished ? formatFinished(finished) : formatApplyResult(applied, approved, context));
  writeResult(context, applied, format);
  context.exit(applyExitCode(applied, approved));
}
