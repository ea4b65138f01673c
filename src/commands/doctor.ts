import type { Context } from '../core/context.ts';
import { EXIT } from '../core/errors.ts';
import { type Check, diagnose } from '../pipeline/doctor/index.ts';
import { loadDefinitions } from '../pipeline/plugins.ts';
import { readConfig } from './options.ts';
import { formatTable, writeResult } from './output.ts';

export async function doctor(context: Context): Promise<void> {
  const config = readConfig(context);
  const { sources } = await loadDefinitions(config);
  const checks = await diagnose(config, context, sources);
  const { colors } = context;
  writeResult(context, checks, () =>
    formatTable(['result', 'about', 'check', 'detail'], checks.map(toCells), { colors, statusColumns: ['result'] }),
  );
  const failed = checks.filter(({ ok }) => !ok);
  if (failed.length > 0) context.exit(failed.length === checks.length ? EXIT.unavailable : EXIT.incomplete);
}

function toCells({ ok, warning, about, check, detail }: Check): readonly string[] {
  return [ok ? (warning ? 'warn' : 'ok') : 'FAIL', about, check, detail];
}
