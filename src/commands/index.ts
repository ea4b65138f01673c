import type { Command } from 'commander';
import type { Context } from '../core/context.ts';

/** Adds a command to the program; `context` is ready once the command line is parsed. */
export type Register = (program: Command, context: () => Context) => void;

/** Every command, one line each; only the one that is called is loaded. */
export const commands: readonly {
  readonly name: string;
  readonly about: string;
  readonly load: () => Promise<Register>;
}[] = [
  {
    name: 'init',
    about: 'write a commented tidemark.yaml and .env.example',
    load: async () => (await import('./init.ts')).registerInit,
  },
  {
    name: 'demo',
    about: 'play several nights of an invented estate, and leave its warehouse and reports',
    load: async () => (await import('./demo.ts')).registerDemo,
  },
  {
    name: 'sandbox',
    about: 'serve the five services on loopback',
    load: async () => (await import('./sandbox.ts')).registerSandbox,
  },
  {
    name: 'doctor',
    about: 'check targets, permissions, limits, clock, warehouse and mail',
    load: async () => (await import('./doctor.ts')).registerDoctor,
  },
  { name: 'pull', about: 'extract and load', load: async () => (await import('./pull.ts')).registerPull },
  {
    name: 'run',
    about: 'one job now: pull, findings, reports, mail',
    load: async () => (await import('./run.ts')).registerRun,
  },
  {
    name: 'schedule',
    about: 'stay up and run every job at its time',
    load: async () => (await import('./schedule.ts')).registerSchedule,
  },
  {
    name: 'mail',
    about: "send a job's digest, or show it",
    load: async () => (await import('./mail.ts')).registerMail,
  },
  {
    name: 'status',
    about: 'last runs, freshness of every source, next runs',
    load: async () => (await import('./status.ts')).registerStatus,
  },
  {
    name: 'sql',
    about: 'read-only SQL over the published warehouse',
    load: async () => (await import('./sql.ts')).registerSql,
  },
  {
    name: 'tables',
    about: 'the tables, their columns, types and meaning',
    load: async () => (await import('./tables.ts')).registerTables,
  },
  { name: 'report', about: 'render reports', load: async () => (await import('./report.ts')).registerReport },
  {
    name: 'findings',
    about: 'the findings and their life',
    load: async () => (await import('./findings.ts')).registerFindings,
  },
  {
    name: 'playbook',
    about: 'act on findings: plan, approve, apply',
    load: async () => (await import('./playbook.ts')).registerPlaybook,
  },
  { name: 'api', about: 'one call of any operation', load: async () => (await import('./api.ts')).registerApi },
  {
    name: 'export',
    about: 'the warehouse as Hive-partitioned Parquet',
    load: async () => (await import('./export.ts')).registerExport,
  },
];
