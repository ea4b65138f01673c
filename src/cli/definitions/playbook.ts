import type { Command } from 'commander';
import { DEFAULT_ACCEPT_DAYS, DEFAULT_LIMITS, DEFAULT_MAX_FAILURES } from '../../core/choices.ts';
import type { Context } from '../../core/context.ts';
import type { ApproveFlags, LedgerFlags, PlanFlags, UndoFlags } from '../playbook.ts';
import { addExamples, collect, type DefineCommand, days, percentage, positiveNumber } from './define.ts';

const HELP = `
PLAN is the ID that \`plan\` prints, the beginning of it, or a file.
\`undo PLAN\` makes a new plan that restores what PLAN changed.
A file STOP in the data folder stops an apply before its next action.
docs/playbooks.md describes how to write a playbook.
`;

const PLAN = 'ID, beginning of an ID, or file';

export const definePlaybook: DefineCommand = (program, context) => {
  const group = program.command('playbook').description('plan, approve and apply changes for findings');
  definePlanning(group, context);
  defineApplying(group, context);
  defineLedger(group, context);
  group.addHelpText('after', HELP);
  return addExamples(
    group,
    ['tidemark playbook plan scope-unused-pools', 'create a plan'],
    ['tidemark playbook show PLAN', 'review it'],
    ['tidemark playbook approve PLAN --by NAME', 'approve it'],
    ['tidemark playbook apply PLAN', 'apply it'],
  );
};

function definePlanning(group: Command, context: () => Context): void {
  addExamples(
    group
      .command('list')
      .description('list the playbooks with their rules and operations')
      .action(async () => (await import('../playbook.ts')).list(context())),
    ['tidemark playbook list', 'list the playbooks'],
  );
  addExamples(
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
      .option('--finding <id>', 'only this finding; repeatable', collect, [])
      .option('--subject <name>', 'only findings of this subject; repeatable', collect, [])
      .option('--limit <n>', 'only so many findings: the most severe first, then by weight and name', positiveNumber)
      .action(async (name: string, flags: PlanFlags) => (await import('../playbook.ts')).plan(context(), name, flags)),
    ['tidemark playbook plan reap-dead-agents', 'plan what the findings call for'],
    ['tidemark playbook plan reap-dead-agents --limit 1', 'plan for the worst finding alone'],
    ['tidemark playbook plan reap-dead-agents --target acme --max-actions 100', 'plan more actions, in one target'],
  );
  addExamples(
    group
      .command('show')
      .description('show the actions of a plan, with their outcomes')
      .argument('<plan>', PLAN)
      .action(async (reference: string) => (await import('../playbook.ts')).show(context(), reference)),
    ['tidemark playbook show PLAN', 'show what a plan does, or did'],
  );
}

function defineApplying(group: Command, context: () => Context): void {
  addExamples(
    group
      .command('approve')
      .description('approve the actions of a plan')
      .argument('<plan>', PLAN)
      .requiredOption('--by <name>', 'who approves')
      .option('--irreversible', 'include actions that cannot be undone')
      .option('--key <file>', 'sign with this SSH key, or with the agent where it is a public key; needs ssh-keygen')
      .option('--print', 'print what to sign with `ssh-keygen -Y sign -n tidemark-plan`, and approve nothing')
      .option('--signature <file>', 'the signature of what --print prints')
      .action(async (reference: string, flags: ApproveFlags) =>
        (await import('../playbook.ts')).approve(context(), reference, flags),
      ),
    ['tidemark playbook approve PLAN --by "A. Reviewer"', 'approve exactly these actions while the plan is valid'],
    [
      'tidemark playbook approve PLAN --by alice --key ~/.ssh/id_ed25519',
      'the same, where `approvers:` are configured',
    ],
  );
  addExamples(
    group
      .command('apply')
      .description('apply an approved plan; run it again to resume')
      .argument('<plan>', PLAN)
      .option(
        '--max-failures <n>',
        'stop after this many failed or unconfirmed actions',
        positiveNumber,
        DEFAULT_MAX_FAILURES,
      )
      .action(async (reference: string, { maxFailures }: { readonly maxFailures: number }) =>
        (await import('../playbook.ts')).apply(context(), reference, maxFailures),
      ),
    ['tidemark playbook apply PLAN', 'apply a plan, or continue an interrupted apply'],
  );
  addExamples(
    group
      .command('undo')
      .description('create a plan that restores what a plan applied; only reads')
      .argument('<plan>', PLAN)
      .option('-o, --output <file>', 'write the new plan to this file as well')
      .option(
        '--accept-days <n>',
        'accept the findings for so long once they are undone; 0 to let the next job apply the same again',
        days,
        DEFAULT_ACCEPT_DAYS,
      )
      .action(async (reference: string, flags: UndoFlags) =>
        (await import('../playbook.ts')).undo(context(), reference, flags),
      ),
    ['tidemark playbook undo PLAN', 'plan the way back'],
  );
}

function defineLedger(group: Command, context: () => Context): void {
  const ledger = addExamples(
    group
      .command('ledger')
      .description('list every started action with its outcome')
      .option('--plan <id>', 'only actions of this plan')
      .option('--settle', 'first read unconfirmed actions again and record what became of them')
      .option('--restore', 'write a ledger that is missing or refused from the table actions')
      .option('--accept', 'take a ledger that is refused as it is')
      .action(async (flags: LedgerFlags) => (await import('../playbook.ts')).ledger(context(), flags)),
    ['tidemark playbook ledger', 'list all actions'],
    ['tidemark playbook ledger --plan PLAN --settle', 'find out what became of unconfirmed actions'],
  );
  addExamples(
    ledger
      .command('verify')
      .description('say whether the ledger was changed, and where')
      .action(async () => (await import('../playbook.ts')).verify(context())),
    ['tidemark playbook ledger verify', 'exits with 4 if the ledger was changed'],
  );
}
