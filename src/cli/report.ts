import { createReadStream } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { formatTimestamp } from '../core/clock.ts';
import type { Context } from '../core/context.ts';
import { EXIT, formatError, type TidemarkError } from '../core/errors.ts';
import { findLeftOut } from '../extract/sources/index.ts';
import type { ReportReadOptions } from '../tell/reports/data.ts';
import { renderReports } from '../tell/reports/index.ts';
import { explainFailure, withPublished } from '../warehouse/session.ts';
import { type DefineCommand, MOMENT, type Texts } from './define.ts';
import { listPlaybooks, readLocalConfig, readShownTime } from './options.ts';

export const define: DefineCommand = (command) =>
  command
    .argument('[name...]', 'reports; all by default')
    .option('--as-of <moment>', `time of the data: ${MOMENT}; the last pull by default`)
    .option('--lake <place>', 'lake that `report fleet` reads; by default `lake` of the configuration')
    .option('--out <dir>', 'output folder; `output` of the configuration by default')
    .runs(() => import('./report.ts'), 'report');

type ReportFlags = Texts<'asOf' | 'lake' | 'out'>;

export async function report(context: Context, names: readonly string[], flags: ReportFlags): Promise<void> {
  const config = readLocalConfig(context);
  if (names.includes('fleet')) return (await import('./lake.ts')).reportFleet(context, config, names, flags);
  await withPublished(config, async (published) => {
    const { asOf, at } = await readShownTime(context, config, published, flags.asOf);
    const options = {
      ...config,
      ...published,
      asOf,
      stalenessAt: at,
      generatedAt: context.clock.now(),
      playbooks: () => listPlaybooks(config),
      ...(names.length > 0 ? { names } : { leftOut: findLeftOut(config.targets) }),
    };
    await writeReports(context, options, flags);
  });
}

/**
 * Writes the files and prints their paths, or with `--json` their data: an object for one named report, otherwise an array.
 * Exits 4 if a report fails.
 */
async function writeReports(
  context: Context,
  options: ReportReadOptions & Config & { readonly stalenessAt: Date },
  flags: ReportFlags,
): Promise<void> {
  const isPast = flags.asOf !== undefined;
  // Reports of an earlier time do not replace the current ones.
  const past = join(options.output, 'as-of', formatTimestamp(options.stalenessAt).replaceAll(':', ''));
  const output = isPast ? past : options.output;
  const out = flags.out === undefined ? output : resolve(context.cwd, flags.out);
  const failures: TidemarkError[] = [];
  const onFailure = (_: string, error: TidemarkError) => failures.push(error);
  const rendered = await renderReports({ ...options, out, archive: !isPast, log: context.log, onFailure });
  for (const failure of failures) {
    context.log.error(formatError(await explainFailure(options, options.data, failure)));
    context.exit(EXIT.data);
  }
  if (context.json) await printData(context, out, rendered, options.names?.length === 1);
  else context.stdout(rendered.flatMap(({ files }) => files.map((file) => `${resolve(out, file)}\n`)).join(''));
}

/** Prints the JSON files of reports: that of a single one as it is, otherwise a list. */
async function printData({ print }: Context, out: string, reports: readonly { name: string }[], isSingle: boolean) {
  const copy = async (name: string, indent: string) => {
    let end = '';
    for await (const chunk of createReadStream(join(out, `${name}.json`), 'utf8') as AsyncIterable<string>) {
      const text = end + chunk;
      end = text.endsWith('\n') ? '\n' : '';
      await print(text.slice(0, text.length - end.length).replaceAll('\n', `\n${indent}`));
    }
  };
  const [first] = reports;
  if (isSingle && first) {
    await copy(first.name, '');
    return print('\n');
  }
  for (const [index, { name }] of reports.entries()) {
    await print(index === 0 ? '[\n  ' : ',\n  ');
    await copy(name, '  ');
  }
  await print(first ? '\n]\n' : '[]\n');
}
