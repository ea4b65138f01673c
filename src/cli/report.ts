import { createReadStream } from 'node:fs';
import { join, resolve } from 'node:path';
import { formatTimestamp } from '../core/clock.ts';
import type { Context } from '../core/context.ts';
import { EXIT, formatError, type TidemarkError } from '../core/errors.ts';
import { findLeftOut } from '../extract/sources/index.ts';
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

/**
 * Writes the files of reports and prints their paths, or with `--json` their data: an object for one named report, otherwise an array.
 * Exits 4 if a report fails.
 */
export async function report(context: Context, names: readonly string[], flags: Texts<'asOf' | 'lake' | 'out'>) {
  const config = readLocalConfig(context);
  if (names.includes('fleet')) return (await import('./lake.ts')).reportFleet(context, config, names, flags);
  await withPublished(config, async (published) => {
    const { asOf, at } = await readShownTime(context, config, published, flags.asOf);
    const isPast = flags.asOf !== undefined;
    // Reports of an earlier time do not replace the current ones.
    const past = join(config.output, 'as-of', formatTimestamp(at).replaceAll(':', ''));
    const output = isPast ? past : config.output;
    const out = flags.out === undefined ? output : resolve(context.cwd, flags.out);
    const failures: TidemarkError[] = [];
    const rendered = await renderReports({
      ...config,
      ...published,
      ...(names.length > 0 ? { names } : { leftOut: findLeftOut(config.targets) }),
      asOf,
      stalenessAt: at,
      generatedAt: context.clock.now(),
      playbooks: () => listPlaybooks(config),
      out,
      archive: !isPast,
      log: context.log,
      onFailure: (_, error) => failures.push(error),
    });
    for (const failure of failures) {
      context.log.error(formatError(await explainFailure(published, config.data, failure)));
      context.exit(EXIT.data);
    }
    if (context.json) await printData(context, out, rendered, names.length === 1);
    else context.stdout(rendered.flatMap(({ files }) => files.map((file) => `${resolve(out, file)}\n`)).join(''));
  });
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
