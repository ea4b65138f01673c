import { copyFile, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../src/core/config.ts';
import { configSchema } from '../../src/core/config-schema.ts';
import type { Log } from '../../src/core/log.ts';
import { createRedactor } from '../../src/core/redact.ts';
import { type Composed, type ComposeOptions, composeMessages, type MailJob } from '../../src/mail/compose.ts';
import type { Message } from '../../src/mail/message.ts';
import { findAll } from '../../src/pipeline/find.ts';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { withWarehouse } from '../../src/warehouse/session.ts';
import { type Estate, openEstate, QUIET } from './report-estate.ts';

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

export interface MailEstate extends Estate {
  /** Carries the findings' life on to a moment of a night. */
  find(asOf: string): Promise<void>;
  compose(asOf: string, more?: Partial<ComposeOptions>): Promise<Composed>;
  /** The only digest of a moment. */
  digest(asOf: string, more?: Partial<ComposeOptions>): Promise<Message>;
}

export async function mailEstate(config?: Config): Promise<MailEstate> {
  const estate = await openEstate();
  const own = config ?? mailConfig(estate.directory);
  const { database, files } = estate;
  const compose: MailEstate['compose'] = (asOf, more = {}) =>
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
    ...estate,
    compose,
    async find(asOf) {
      const targets = own.targets.map(({ name }) => name);
      await findAll({ database, files, asOf: new Date(asOf), thresholds: own.thresholds, targets });
    },
    async digest(asOf, more) {
      const { messages } = await compose(asOf, more);
      if (messages.length !== 1 || !messages[0]) throw new Error(`${messages.length} digests instead of one`);
      return messages[0];
    },
  };
}

let empty: Promise<string> | undefined;

/** Puts an empty warehouse in place: making one anew costs more than most tests. */
export async function seedWarehouse({ data }: Config): Promise<void> {
  empty ??= emptyWarehouse();
  await mkdir(data, { recursive: true });
  await copyFile(await empty, warehouseFiles(data).published);
}

async function emptyWarehouse(): Promise<string> {
  const config = mailConfig(await mkdtemp(join(tmpdir(), 'tidemark-mail-')));
  await withWarehouse({ config, purpose: 'test', now: new Date(0), log: QUIET }, async () => {});
  return warehouseFiles(config.data).published;
}

/** A context for sending that keeps what is logged. */
export function mailContext(now: string | (() => Date)) {
  const lines: string[] = [];
  const log: Log = {
    info: (line) => lines.push(line),
    warn: (line) => lines.push(`warning: ${line}`),
    error: (line) => lines.push(`error: ${line}`),
  };
  const clock = { now: typeof now === 'string' ? () => new Date(now) : now, frozen: true };
  return { clock, log, lines, redactor: createRedactor(), signal: new AbortController().signal };
}
