import type { Command } from 'commander';
import type { Context } from '../core/context.ts';
import type { DefineCommand } from './definitions/define.ts';

/** Every command. Only the definition of the selected one is loaded. */
export const commands: readonly {
  readonly name: string;
  /** Heading in the help of the program. */
  readonly group: string;
  readonly description: string;
  readonly load: () => Promise<DefineCommand>;
}[] = [
  {
    name: 'init',
    group: 'First steps:',
    description: 'write a commented tidemark.yaml and .env.example',
    load: async () => (await import('./definitions/init.ts')).defineInit,
  },
  {
    name: 'demo',
    group: 'First steps:',
    description: 'run the nightly job on a generated estate and keep its warehouse and reports',
    load: async () => (await import('./definitions/demo.ts')).defineDemo,
  },
  {
    name: 'sandbox',
    group: 'First steps:',
    description: 'serve the six services on the loopback interface',
    load: async () => (await import('./definitions/sandbox.ts')).defineSandbox,
  },
  {
    name: 'doctor',
    group: 'First steps:',
    description: 'check targets, permissions, limits, clock, warehouse and mail',
    load: async () => (await import('./definitions/doctor.ts')).defineDoctor,
  },
  {
    name: 'permissions',
    group: 'First steps:',
    description: 'print the least rights that the tokens need, as policies of the services',
    load: async () => (await import('./definitions/permissions.ts')).definePermissions,
  },
  {
    name: 'pull',
    group: 'Every night:',
    description: 'extract from the targets and load the warehouse',
    load: async () => (await import('./definitions/pull.ts')).definePull,
  },
  {
    name: 'run',
    group: 'Every night:',
    description: 'run one job now: pull, findings, reports, mail',
    load: async () => (await import('./definitions/run.ts')).defineRun,
  },
  {
    name: 'schedule',
    group: 'Every night:',
    description: 'run every job at its scheduled time',
    load: async () => (await import('./definitions/schedule.ts')).defineSchedule,
  },
  {
    name: 'mail',
    group: 'Every night:',
    description: 'send the digest of a job, or preview it',
    load: async () => (await import('./definitions/mail.ts')).defineMail,
  },
  {
    name: 'status',
    group: 'Every night:',
    description: 'show the last runs, the freshness of every source, and the next runs',
    load: async () => (await import('./definitions/status.ts')).defineStatus,
  },
  {
    name: 'sql',
    group: 'Ask:',
    description: 'run read-only SQL on the published warehouse',
    load: async () => (await import('./definitions/sql.ts')).defineSql,
  },
  {
    name: 'serve',
    group: 'Ask:',
    description: 'serve reports, the catalogue, saved queries and SQL as read-only pages until stopped',
    load: async () => (await import('./definitions/serve.ts')).defineServe,
  },
  {
    name: 'tables',
    group: 'Ask:',
    description: 'describe the tables and their columns',
    load: async () => (await import('./definitions/tables.ts')).defineTables,
  },
  {
    name: 'report',
    group: 'Ask:',
    description: 'render reports',
    load: async () => (await import('./definitions/report.ts')).defineReport,
  },
  {
    name: 'show',
    group: 'Ask:',
    description: 'show a workspace, pool, key, volume or another subject: its present, its history and its findings',
    load: async () => (await import('./definitions/show.ts')).defineShow,
  },
  {
    name: 'diff',
    group: 'Ask:',
    description: 'show what changed between two moments',
    load: async () => (await import('./definitions/diff.ts')).defineDiff,
  },
  {
    name: 'findings',
    group: 'Act:',
    description: 'list findings, or accept them',
    load: async () => (await import('./definitions/findings.ts')).defineFindings,
  },
  {
    name: 'policy',
    group: 'Ask:',
    description: 'check the policy of versions, and what it would flag',
    load: async () => (await import('./definitions/policy.ts')).definePolicy,
  },
  {
    name: 'playbook',
    group: 'Act:',
    description: 'plan, approve and apply changes for findings',
    load: async () => (await import('./definitions/playbook.ts')).definePlaybook,
  },
  {
    name: 'api',
    group: 'Act:',
    description: 'call any operation of a service',
    load: async () => (await import('./definitions/api.ts')).defineApi,
  },
  {
    name: 'export',
    group: 'Keep:',
    description: 'export the warehouse as Parquet',
    load: async () => (await import('./definitions/export.ts')).defineExport,
  },
  {
    name: 'lake',
    group: 'Keep:',
    description: 'publish the warehouse as Delta tables that Spark, Trino, ClickHouse and DuckDB read',
    load: async () => (await import('./definitions/lake.ts')).defineLake,
  },
  {
    name: 'backup',
    group: 'Keep:',
    description: 'write what cannot be pulled again into a folder, verify it, or restore it',
    load: async () => (await import('./definitions/backup.ts')).defineBackup,
  },
  {
    name: 'lifecycle',
    group: 'Keep:',
    description: 'take newer facts about how long versions of products are supported',
    load: async () => (await import('./definitions/lifecycle.ts')).defineLifecycle,
  },
  {
    name: 'prune',
    group: 'Keep:',
    description: 'show what is older than the configuration keeps, or remove it',
    load: async () => (await import('./definitions/prune.ts')).definePrune,
  },
  {
    name: 'completion',
    group: 'Keep:',
    description: 'print a script that completes commands, options and names in a shell',
    load: async () => (await import('./definitions/completion.ts')).defineCompletion,
  },
];

/** Adds the full definition of every command. */
export async function defineAllCommands(program: Command, context: () => Context): Promise<Command> {
  for (const { load } of commands) (await load())(program, context);
  return program;
}
