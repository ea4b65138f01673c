import { type Command, Option } from 'commander';
import { FINDING_STATES, SEVERITIES } from '../../core/choices.ts';
import type { Context } from '../../core/context.ts';
import type { AcceptFlags, FindingsFlags } from '../findings.ts';
import { addExamples, type DefineCommand } from './define.ts';

export const defineFindings: DefineCommand = (program, context) => {
  const findings = program
    .command('findings')
    .summary('list findings, or accept them')
    .description('list findings that are not resolved, worst first')
    .addOption(new Option('--state <state>', 'only findings in this state').choices([...FINDING_STATES]))
    .option('--rule <name>', 'only findings of this rule')
    .option('--target <name>', 'only findings of this target')
    .addOption(new Option('--severity <severity>', 'only findings of at least this severity').choices([...SEVERITIES]))
    .addOption(
      new Option(
        '--fail-on <severity>',
        'exit 5 if a finding of at least this severity is new or open, 1 if that is unknown',
      ).choices([...SEVERITIES]),
    )
    .action(async (flags: FindingsFlags) => (await import('../findings.ts')).list(context(), flags));
  defineAccept(findings, context);
  defineExplain(findings, context);
  return addExamples(
    findings,
    ['tidemark findings --severity critical', 'list the critical findings'],
    ['tidemark findings --state new --fail-on warning', 'fail a pipeline if something new needs a look'],
  );
};

function defineExplain(findings: Command, context: () => Context): void {
  addExamples(
    findings
      .command('explain')
      .description('explain a finding: its rule in words, what it saw, since when, and what ends it')
      .argument('<id>', 'finding ID, or its beginning')
      .action(async (id: string) => (await import('../explain.ts')).explain(context(), id)),
    ['tidemark findings explain f-58c603162f0e', 'explain one finding'],
  );
}

function defineAccept(findings: Command, context: () => Context): void {
  addExamples(
    findings
      .command('accept')
      .description('accept findings until a date, or until they get worse')
      .argument('<id...>', 'finding IDs')
      .requiredOption('--reason <text>', 'why')
      .requiredOption('--owner <name>', 'who is responsible')
      .requiredOption('--until <timestamp>', 'when the acceptance ends; a date means 00:00 UTC of that day')
      .action(async (ids: readonly string[], flags: AcceptFlags) =>
        (await import('../findings.ts')).accept(context(), ids, flags),
      ),
    [
      'tidemark findings accept ID --reason "retired in May" --owner platform --until 2027-05-31',
      'accept one finding until a date',
    ],
  );
}
