import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { overlayRoots } from '../core/paths.ts';
import { openDuckdb } from '../fleet/duckdb.ts';
import { type FleetEngine, PASSWORD_VARIABLE, parseEngineAddress } from '../fleet/engine.ts';
import { renderFleetReport } from '../fleet/report.ts';
import { withLakeStore } from '../lake/open-store.ts';
import { toJsonText } from '../reports/index.ts';
import { createSqlFiles, type SqlFiles } from '../warehouse/sql-files.ts';
import { readLocalConfig } from './options.ts';
import type { ReportFlags } from './report.ts';

/** Renders the report of all organizations in a lake, and prints the paths of its files. */
export async function reportFleet(context: Context, names: readonly string[], flags: ReportFlags): Promise<void> {
  if (names.length > 1 || flags.asOf !== undefined) {
    throw new TidemarkError('USAGE', '`report fleet` shows the newest nights of a lake, and no other report', {
      hint: 'give `report fleet` alone, without --as-of',
    });
  }
  const config = readLocalConfig(context);
  const files = createSqlFiles(overlayRoots(config.directory));
  await withEngine(context, config, files, flags, async (engine) => {
    const out = flags.out === undefined ? config.output : resolve(context.cwd, flags.out);
    const report = await renderFleetReport({ engine, files, out, generatedAt: context.clock.now() });
    if (context.json) context.stdout(toJsonText(report.data));
    else context.stdout(report.files.map((file) => `${resolve(out, file)}\n`).join(''));
  });
}

function withEngine(
  context: Context,
  config: Config,
  files: SqlFiles,
  { engine = 'duckdb', lake }: ReportFlags,
  work: (engine: FleetEngine) => Promise<void>,
): Promise<void> {
  const use = async (opened: FleetEngine) => work(opened).finally(() => opened.close());
  if (engine !== 'duckdb') return openServer(context, engine).then(use);
  return withLakeStore(context, config, lake, async (store) => use(await openDuckdb(store, files, config.memoryLimit)));
}

/** Drivers are loaded for the engine that needs them. */
async function openServer({ env, signal }: Context, engine: string): Promise<FleetEngine> {
  const address = parseEngineAddress(engine);
  const password = env[PASSWORD_VARIABLE] ?? '';
  if (address.engine === 'clickhouse') {
    return (await import('../fleet/clickhouse.ts')).openClickhouse(address, password, signal);
  }
  return (await import('../fleet/trino.ts')).openTrino(address, password, signal);
}
