import type { Command } from 'commander';
import { createColors } from '../core/color.ts';
import type { Context } from '../core/context.ts';
import { defineApi } from './definitions/api.ts';
import { defineBackup } from './definitions/backup.ts';
import { defineCompletion } from './definitions/completion.ts';
import type { DefineCommand } from './definitions/define.ts';
import { defineDemo } from './definitions/demo.ts';
import { defineDiff } from './definitions/diff.ts';
import { defineDoctor } from './definitions/doctor.ts';
import { defineExport } from './definitions/export.ts';
import { defineFindings } from './definitions/findings.ts';
import { defineInit } from './definitions/init.ts';
import { defineLake } from './definitions/lake.ts';
import { defineLifecycle } from './definitions/lifecycle.ts';
import { defineMail } from './definitions/mail.ts';
import { definePermissions } from './definitions/permissions.ts';
import { definePlaybook } from './definitions/playbook.ts';
import { definePolicy } from './definitions/policy.ts';
import { definePrune } from './definitions/prune.ts';
import { definePull } from './definitions/pull.ts';
import { defineReport } from './definitions/report.ts';
import { defineRun } from './definitions/run.ts';
import { defineSandbox } from './definitions/sandbox.ts';
import { defineSchedule } from './definitions/schedule.ts';
import { defineServe } from './definitions/serve.ts';
import { defineShow } from './definitions/show.ts';
import { defineSql } from './definitions/sql.ts';
import { defineStatus } from './definitions/status.ts';
import { defineTables } from './definitions/tables.ts';
import { createProgram } from './program.ts';

/** Every command, by its heading in the help of the program. */
const GROUPS: Readonly<Record<string, readonly DefineCommand[]>> = {
  'First steps:': [defineInit, defineDemo, defineSandbox, defineDoctor, definePermissions],
  'Every night:': [definePull, defineRun, defineSchedule, defineMail, defineStatus],
  'Ask:': [defineSql, defineServe, defineTables, defineReport, defineShow, defineDiff, definePolicy],
  'Act:': [defineFindings, definePlaybook, defineApi],
  'Keep:': [defineExport, defineLake, defineBackup, defineLifecycle, definePrune, defineCompletion],
};

/** Adds every command. None of them loads what it runs before it runs. */
export function addCommands(program: Command, context: () => Context): Command {
  for (const [group, definitions] of Object.entries(GROUPS)) {
    for (const define of definitions) define(program, context).helpGroup(group);
  }
  return program;
}

/** The command line with all commands, none of which can run: for help, completion and the manual. */
export function defineProgram(): Command {
  const program = createProgram({ stdout: () => {}, stderr: () => {}, colors: createColors(false) });
  return addCommands(program, () => {
    throw new Error('no command runs here');
  });
}
