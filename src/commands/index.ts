import type { Command } from 'commander';
import type { Context } from '../core/context.ts';

/** Adds a command to the program; `context` may be called once the command line is parsed. */
export type RegisterCommand = (program: Command, context: () => Context) => void;

/** Every command. Only the selected one is loaded. */
export const commands: readonly {
  readonly name: string;
  readonly description: string;
  readonly load: () => Promise<RegisterCommand>;
}[] = [
  {
    name: 'init',
    description: 'write a commented tidemark.yaml and .env.example',
    load: async () => (await import('./init.ts')).registerInit,
  },
  {
    name: 'demo',
    description: 'run the nightly job on a generated estate and keep its warehouse and reports',
    load: async () => (await import('./demo.ts')).registerDemo,
  },
  {
    name: 'sandbox',
    description: 'serve the five services on the loopback interface',
    load: async () => (await import('./sandbox.ts')).registerSandbox,
  },
  {
    name: 'doctor',
    description: 'check targets, permissions, limits, clock, warehouse and mail',
    load: async () => (await import('./doctor.ts')).registerDoctor,
  },
  {
    name: 'permissions',
    description: 'print the least rights that the tokens need, as policies of the services',
    load: async () => (await import('./permissions.ts')).registerPermissions,
  },
  {
    name: 'pull',
    description: 'extract from the targets and load the warehouse',
    load: async () => (await import('./pull.ts')).registerPull,
  },
  {
    name: 'run',
    description: 'run one job now: pull, findings, reports, mail',
    load: async () => (await import('./run.ts')).registerRun,
  },
  {
    name: 'schedule',
    description: 'run every job at its scheduled time',
    load: async () => (await import('./schedule.ts')).registerSchedule,
  },
  {
    name: 'mail',
    description: 'send the digest of a job, or preview it',
    load: async () => (await import('./mail.ts')).registerMail,
  },
  {
    name: 'status',
    description: 'show the last runs, the freshness of every source, and the next runs',
    load: async () => (await import('./status.ts')).registerStatus,
  },
  {
    name: 'sql',
    description: 'run read-only SQL on the published warehouse',
    load: async () => (await import('./sql.ts')).registerSql,
  },
  {
    name: 'tables',
    description: 'describe the tables and their columns',
    load: async () => (await import('./tables.ts')).registerTables,
  },
  { name: 'report', description: 'render reports', load: async () => (await import('./report.ts')).registerReport },
  {
    name: 'findings',
    description: 'list findings, or accept them',
    load: async () => (await import('./findings.ts')).registerFindings,
  },
  {
    name: 'playbook',
    description: 'plan, approve and apply changes for findings',
    load: async () => (await import('./playbook.ts')).registerPlaybook,
  },
  {
    name: 'api',
    description: 'call any operation of a service',
    load: async () => (await import('./api.ts')).registerApi,
  },
  {
    name: 'export',
    description: 'export the warehouse as Hive-partitioned Parquet',
    load: async () => (await import('./export.ts')).registerExport,
  },
];
