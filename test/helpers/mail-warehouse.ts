import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../src/config/config.ts';
import { configSchema } from '../../src/config/schema.ts';
import type { Log } from '../../src/core/log.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { evaluateFindings } from '../../src/tell/findings/evaluate.ts';
import { type ComposeResult, composeMessages } from '../../src/tell/mail/compose.ts';
import type { ComposeOptions, MailJob } from '../../src/tell/mail/digest-data.ts';
import type { Message } from '../../src/tell/mail/message.ts';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { copyEmptyWarehouse, prepareOnce } from './prepared.ts';
import { createReportWarehouse, type ReportWarehouse } from './report-warehouse.ts';
import type { Cleanup } from './temp.ts';

export const PLATFORM = {
  name: 'acme',
  kind: 'platform',
  url: 'https://x.example',
  organization: 'acme',
  token: 'tok-en',
};

/** A configuration with one platform and a mail server, changed by `more`. */
export function mailConfig(folder: string, more: Readonly<Record<string, unknown>> = {}): Config {
  const mail = { smtp: 'smtp://127.0.0.1:2525', from: 'Tidemark <reports@acme.example>' };
  const raw = configSchema.parse({ targets: [PLATFORM], mail, ...more });
  return {
    ...raw,
    file: join(folder, 'tidemark.yaml'),
    directory: folder,
    data: join(folder, 'data'),
    output: join(folder, 'out'),
  } as unknown as Config;
}

export const NIGHTLY: MailJob = {
  name: 'nightly',
  reports: ['drift', 'check-failure'],
  mail: { to: ['platform@acme.example'], when: 'always' },
};

export interface MailWarehouse extends ReportWarehouse {
  /** Evaluates the rules and updates the findings. @param config another one than that of the warehouse */
  evaluate(asOf: string, config?: Config): Promise<void>;
  compose(asOf: string, more?: Partial<ComposeOptions>): Promise<ComposeResult>;
  /** The only digest of a run. */
  digest(asOf: string, more?: Partial<ComposeOptions>): Promise<Message>;
}

/**
 * @param from a warehouse file to copy; @default one without rows
 * @param cleanup when the warehouse goes; @default at the end of the test
 */
export async function createMailWarehouse(config?: Config, from?: string, cleanup?: Cleanup): Promise<MailWarehouse> {
  const warehouse = await createReportWarehouse(undefined, from, cleanup);
  const own = config ?? mailConfig(warehouse.directory);
  const { database, files } = warehouse;
  const compose: MailWarehouse['compose'] = (asOf, more = {}) =>
    composeMessages({
      database,
      files,
      config: own,
      job: NIGHTLY,
      run: { runId: `run-of-${asOf}`, asOf: new Date(asOf) },
      composedAt: new Date(asOf),
      ...more,
    });
  return {
    ...warehouse,
    compose,
    async evaluate(asOf, { thresholds, targets } = own) {
      await evaluateFindings({ database, files, asOf: new Date(asOf), thresholds, targets });
    },
    async digest(asOf, more) {
      const { messages } = await compose(asOf, more);
      if (messages.length !== 1 || !messages[0]) throw new Error(`${messages.length} digests instead of one`);
      return messages[0];
    },
  };
}

/** The file of a warehouse that `fill` fills once in a run of the tests. Tests copy it. */
export async function prepareMailWarehouse(
  name: string,
  fill: (warehouse: MailWarehouse) => Promise<void>,
  config?: Config,
): Promise<string> {
  const prepared = await prepareOnce(name, async (folder) => {
    const ends: (() => Promise<void>)[] = [];
    const warehouse = await createMailWarehouse(config, undefined, (end) => ends.push(end));
    await fill(warehouse);
    await warehouse.database.run('checkpoint');
    await copyFile(warehouse.file, join(folder, 'warehouse.duckdb'));
    for (const end of ends.reverse()) await end();
  });
  return join(prepared, 'warehouse.duckdb');
}

/** Publishes an empty warehouse. */
export async function publishEmptyWarehouse({ data }: Config): Promise<void> {
  await mkdir(data, { recursive: true });
  await copyEmptyWarehouse(warehouseFiles(data).published);
}

/** A context for sending that records the log. */
export function mailContext(now: string | (() => Date)) {
  const lines: string[] = [];
  const log: Log = {
    info: (line) => lines.push(line),
    warn: (line) => lines.push(`warning: ${line}`),
    error: (line) => lines.push(`error: ${line}`),
  };
  const clock = { now: typeof now === 'string' ? () => new Date(now) : now, frozen: true };
  return { clock, log, lines, redactor: new Redactor(), signal: new AbortController().signal };
}
