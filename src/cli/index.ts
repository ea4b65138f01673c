import { createColors } from '../core/color.ts';
import type { Context } from '../core/context.ts';
import type { DefineCommand, DocumentedCommand } from './define.ts';
import { createProgram } from './program.ts';

type CommandEntry = readonly [name: string, about: string, load: () => Promise<{ readonly define: DefineCommand }>];

/** Every command, by its heading in the help of the program. scripts/bundle.js makes each `import()` load the definition alone. */
const GROUPS: Readonly<Record<string, readonly CommandEntry[]>> = {
  'First steps:': [
    ['init', 'write a commented tidemark.yaml and .env.example', () => import('./init.ts')],
    ['demo', 'run the nightly job on a generated estate and keep its warehouse and reports', () => import('./demo.ts')],
    ['sandbox', 'serve the six services on the loopback interface', () => import('./sandbox.ts')],
    ['doctor', 'check targets, permissions, limits, clock, warehouse and mail', () => import('./doctor.ts')],
    [
      'permissions',
      'print the least rights that the tokens need, as policies of the services',
      () => import('./permissions.ts'),
    ],
  ],
  'Every night:': [
    ['pull', 'extract from the targets and load the warehouse', () => import('./pull.ts')],
    ['run', 'run one job now: pull, findings, reports, mail', () => import('./run.ts')],
    ['schedule', 'run every job at its scheduled time', () => import('./schedule.ts')],
    ['mail', 'send the digest of a job, or preview it', () => import('./mail.ts')],
    ['status', 'show the last runs, the freshness of every source, and the next runs', () => import('./status.ts')],
  ],
  'Ask:': [
    ['sql', 'run read-only SQL on the published warehouse', () => import('./sql.ts')],
    [
      'serve',
      'serve reports, the catalogue, saved queries and SQL as read-only pages until stopped',
      () => import('./serve.ts'),
    ],
    ['tables', 'describe the tables and their columns', () => import('./tables.ts')],
    ['report', 'render reports', () => import('./report.ts')],
    [
      'show',
      'show a workspace, pool, key, volume or another subject: its present, its history and its findings',
      () => import('./show.ts'),
    ],
    ['diff', 'show what changed between two moments', () => import('./diff.ts')],
    ['policy', 'check the policy of versions, and what it would flag', () => import('./policy.ts')],
  ],
  'Act:': [
    ['findings', 'list findings, or accept them', () => import('./findings.ts')],
    ['playbook', 'plan, approve and apply changes for findings', () => import('./playbook.ts')],
    ['api', 'call any operation of a service', () => import('./api.ts')],
  ],
  'Keep:': [
    ['export', 'export the warehouse as Parquet', () => import('./export.ts')],
    [
      'lake',
      'publish the warehouse as Delta tables that Spark, Trino, ClickHouse and DuckDB read',
      () => import('./lake.ts'),
    ],
    [
      'backup',
      'write what cannot be pulled again into a folder, verify it, or restore it',
      () => import('./backup.ts'),
    ],
    ['lifecycle', 'take newer facts about how long versions of products are supported', () => import('./lifecycle.ts')],
    ['prune', 'show what is older than the configuration keeps, or remove it', () => import('./prune.ts')],
    [
      'completion',
      'print a script that completes commands, options and names in a shell',
      () => import('./completion.ts'),
    ],
  ],
};

/** Adds every command. Those that `words` name have their options and help; the others only say what they do. */
export async function addCommands(
  program: DocumentedCommand,
  words: readonly string[],
  context: () => Context,
): Promise<DocumentedCommand> {
  for (const [group, entries] of Object.entries(GROUPS)) {
    for (const [name, about, load] of entries) {
      const command = program.command(name).summary(about).description(about).helpGroup(group);
      if (words.includes(name)) (await load()).define(command, context);
    }
  }
  return program;
}

/** The command line, none of whose commands can run: for help, completion and the manual. @param words as for `addCommands` */
export function defineProgram(
  words: readonly string[] = Object.values(GROUPS).flatMap((entries) => entries.map(([name]) => name)),
) {
  const program = createProgram({ stdout: () => {}, stderr: () => {}, colors: createColors(false) });
  return addCommands(program, words, () => {
    throw new Error('no command runs here');
  });
}
