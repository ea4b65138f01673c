import { createColors } from '../core/color.ts';
import type { DefineCommand, DocumentedCommand } from './define.ts';
import { createProgram } from './program.ts';

type LoadDefinition = () => Promise<{ readonly define: DefineCommand }>;

/** Every command, by its heading in the help of the program. scripts/bundle.js makes each `import()` load the definition alone. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, LoadDefinition>>>> = {
  'First steps:': {
    init: () => import('./init.ts'),
    demo: () => import('./demo.ts'),
    sandbox: () => import('./sandbox.ts'),
    doctor: () => import('./doctor.ts'),
    permissions: () => import('./permissions.ts'),
  },
  'Every night:': {
    pull: () => import('./pull.ts'),
    run: () => import('./run.ts'),
    schedule: () => import('./schedule.ts'),
    mail: () => import('./mail.ts'),
    status: () => import('./status.ts'),
  },
  'Ask:': {
    sql: () => import('./sql.ts'),
    serve: () => import('./serve.ts'),
    tables: () => import('./tables.ts'),
    report: () => import('./report.ts'),
    show: () => import('./show.ts'),
    diff: () => import('./diff.ts'),
    policy: () => import('./policy.ts'),
  },
  'Act:': {
    findings: () => import('./findings.ts'),
    playbook: () => import('./playbook.ts'),
    api: () => import('./api.ts'),
  },
  'Keep:': {
    export: () => import('./export.ts'),
    lake: () => import('./lake.ts'),
    backup: () => import('./backup.ts'),
    lifecycle: () => import('./lifecycle.ts'),
    prune: () => import('./prune.ts'),
    completion: () => import('./completion.ts'),
  },
};

/** Adds every command. Those that `words` name have their options and help; the others only say what they do. */
export async function addCommands(program: DocumentedCommand, words: readonly string[]): Promise<DocumentedCommand> {
  for (const [group, commands] of Object.entries(GROUPS)) {
    for (const [name, load] of Object.entries(commands)) {
      const command = program.command(name).helpGroup(group);
      if (words.includes(name)) (await load()).define(command);
      command.document();
    }
  }
  return program;
}

/** The command line, none of whose commands can run: for help, completion and the manual. @param words as for `addCommands` */
export function defineProgram(words: readonly string[] = Object.values(GROUPS).flatMap(Object.keys)) {
  const output = { stdout: () => {}, stderr: () => {}, colors: createColors(false) };
  return addCommands(
    createProgram(output, async () => {}),
    words,
  );
}
