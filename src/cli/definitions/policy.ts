import { addExamples, type DefineCommand } from './define.ts';

export const definePolicy: DefineCommand = (program, context) => {
  const policy = program.command('policy').description('check the policy of versions, and what it would flag');
  addExamples(
    policy
      .command('check')
      .description('validate a policy, and show which findings it would add and end; exit 5 if it would add some')
      .argument('[file]', 'policy; policy/versions.yaml beside the configuration unless given')
      .action(async (file: string | undefined) => (await import('../policy.ts')).check(context(), file)),
    ['tidemark policy check', 'check what a change of policy/versions.yaml would flag'],
    ['tidemark policy check draft.yaml', 'check another file'],
  );
  return addExamples(policy, ['tidemark policy check', 'check what a change of policy/versions.yaml would flag']);
};
