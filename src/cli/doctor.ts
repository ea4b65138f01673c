import { existsSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT } from '../core/errors.ts';
import { checkDefinitions } from '../run/check-definitions.ts';
import { type Check, listNextSteps } from '../run/doctor/checks.ts';
import { diagnose } from '../run/doctor/index.ts';
import { loadDefinitions } from '../run/plugins/index.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import type { DefineCommand } from './define.ts';
import { readConfig } from './options.ts';
import { formatNextSteps, formatTable, writeResult } from './output.ts';

export const define: DefineCommand = (command) => command.runs(() => import('./doctor.ts'), 'doctor');

export async function doctor(context: Context): Promise<void> {
  const config = readConfig(context);
  const { sources } = await loadDefinitions(config, {}, () => false);
  const checks = [...(await diagnose(config, context, sources)), ...(await checkConfigured(config, context))];
  const hasWarehouse = existsSync(warehouseFiles(config.data).published);
  const steps = listNextSteps(checks, hasWarehouse);
  const rows = checks.map(({ ok, warning, about, check, detail }) => {
    return [ok ? (warning ? 'warn' : 'ok') : 'FAIL', about, check, detail];
  });
  const table = () => formatTable(['result', 'about', 'check', 'detail'], rows, context);
  writeResult(context, checks, () => `${table()}\n${formatNextSteps(steps, context)}`);
  const failed = checks.filter(({ ok }) => !ok);
  if (failed.length > 0) context.exit(failed.length === checks.length ? EXIT.unavailable : EXIT.incomplete);
}

/** What the jobs of this configuration use. */
async function checkConfigured(config: Config, context: Context): Promise<readonly Check[]> {
  const problems = await checkDefinitions(config, context);
  const about = 'configuration';
  if (problems.length > 0)
    return problems.map(({ what: check, problem: detail }) => {
      const repair = `correct the ${check} that the checks above name`;
      return { ok: false, about, check, detail, repair };
    });
  return [{ ok: true, about, check: 'definitions', detail: 'every job, report, route and rule can be used' }];
}
