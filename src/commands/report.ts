import { resolve } from 'node:path';
import type { Command } from 'commander';
import { parseTimestamp } from '../core/clock.ts';
import { type Config, loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { describe, EXIT, TidemarkError } from '../core/errors.ts';
import { type ReadOptions, renderReports } from '../render/index.ts';
import { jsonText } from '../render/write.ts';
import { openPublished } from '../warehouse/session.ts';

interface ReportFlags {
  readonly asOf?: string;
  readonly out?: string;
}

export function registerReport(program: Command, context: () => Context): void {
  program
    .command('report')
    .description('render reports')
    .argument('[name...]', 'reports; all of them when none is named')
    .option('--as-of <timestamp>', 'the moment that the reports tell of; the last pull by default')
    .option('--out <dir>', 'folder for the files; `output` of the configuration by default')
    .action((names: readonly string[], flags: ReportFlags) => report(context(), names, flags));
}

async function report(context: Context, names: readonly string[], flags: ReportFlags): Promise<void> {
  const config = loadConfig(resolve(context.cwd, context.configFile), context.env, context.redactor);
  const asked = flags.asOf === undefined ? undefined : timestamp(flags.asOf);
  const { database, files } = await openPublished(config);
  try {
    const now = context.clock.now();
    const [latest] = await database.rows(await files.text('warehouse/clock'));
    const asOf = asked ?? (typeof latest?.latest === 'string' ? new Date(latest.latest) : now);
    const options: ReadOptions = {
      database,
      files,
      roots: files.roots,
      asOf,
      freshAt: asked ?? now,
      generatedAt: now,
      thresholds: config.thresholds,
      ...(names.length > 0 && { names }),
    };
    await answer(context, config, options, flags);
  } finally {
    database.close();
  }
}

/** Writes the files, and exits 4 when one could not be made; stdout gets their paths, or with `--json` their data: an object for one named report, else an array. */
async function answer(context: Context, config: Config, options: ReadOptions, flags: ReportFlags): Promise<void> {
  const out = flags.out === undefined ? config.output : resolve(context.cwd, flags.out);
  const onFailure = (_: string, error: TidemarkError) => {
    context.log.error(describe(error));
    context.exit(EXIT.data);
  };
  const rendered = await renderReports({ ...options, out, reportDays: config.reportDays, log: context.log, onFailure });
  const data = rendered.map((one) => one.data);
  if (context.json) context.stdout(jsonText(options.names?.length === 1 && data[0] ? data[0] : data));
  else context.stdout(rendered.flatMap(({ files }) => files.map((file) => `${resolve(out, file)}\n`)).join(''));
}

function timestamp(text: string): Date {
  const moment = parseTimestamp(text);
  if (moment) return moment;
  throw new TidemarkError('USAGE', `--as-of ${text} is no timestamp`, { hint: 'write it as 2026-11-20T02:15:00Z' });
}
