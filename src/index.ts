import { resolve } from 'node:path';
import { openQuerySession } from './ask/query/session.ts';
import { type Config, getTarget, loadConfig } from './config/config.ts';
import { loadJob } from './config/job.ts';
import { findNamed } from './config/suggest.ts';
import { frozenClock, systemClock } from './core/clock.ts';
import type { JobContext } from './core/context.ts';
import { TidemarkError } from './core/errors.ts';
import { isScalar, SCALAR } from './core/json-path.ts';
import type { Log } from './core/log.ts';
import { Redactor } from './core/redact/redactor.ts';
import { type Definitions, loadDefinitions, type Plugin } from './run/plugins/index.ts';
import { assertPulls, runPulls, selectPulls } from './run/pull.ts';
import type { JobResult, RunResult } from './run/run.ts';
import { runJob } from './run/run-job.ts';
import { type ApiClient, createApiClient } from './services/api-client.ts';
import { type ServiceClient, ServiceClients } from './services/client.ts';
import type { Row } from './warehouse/values.ts';

/** Tidemark as a library. docs/library.md describes it. */

export { z } from 'zod';
export {
  type AbsenceEvidence,
  type ActionDeclaration,
  type ActionDefinition,
  defineAction,
  definePlaybook,
  drifted,
  type PlanContext,
  type PlannedAction,
  type Playbook,
  type PlaybookFinding,
  type Precondition,
  ready,
  satisfied,
  skip,
  type UndoDeclaration,
  unknown,
} from './act/define.ts';
export { responseBody, responseItems } from './act/playbooks/lib/reads.ts';
export type { Config, Target, TargetKind } from './config/config.ts';
export { TidemarkError } from './core/errors.ts';
export { booleanAt, hasSameMembers, listAt, numberAt, textAt, valueAt } from './core/json-path.ts';
export type { Log } from './core/log.ts';
export { version } from './core/paths.ts';
export {
  defineSource,
  type ExtractContext,
  type ListedObject,
  type ObjectList,
  type ObjectReader,
  type ObjectRequest,
  type SourceDefinition,
  type Unchanged,
} from './extract/sources/source.ts';
export { type HttpFailure, ServiceError } from './http/errors.ts';
export type { PullOutcome } from './load/record-pulls.ts';
export { type Definitions, definePlugin, type Plugin } from './run/plugins/index.ts';
export type { JobResult, RunResult, RunStatus } from './run/run.ts';
export type { ApiClient } from './services/api-client.ts';
export type * from './services/api-results.ts';
export type { Conditions, RequestOptions, ServiceClient } from './services/client.ts';
export { autoscaler, mesh, operations, platform, registry, scheduler, secrets } from './services/index.ts';
export { defineOperation, type Operation, pathParam, queryParam } from './services/operation.ts';
export type { ResponsePage, ServiceResponse } from './services/response.ts';
export type { Row, Value } from './warehouse/values.ts';

export interface TidemarkOptions extends Plugin {
  /** Path of the configuration. @default './tidemark.yaml' */
  readonly config?: string;
  /** Environment variables for the configuration, and for HTTPS_PROXY and its kin. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Receives progress, warnings and errors, without secrets. @default none */
  readonly log?: Log;
  /** Aborts runs, queries and calls. */
  readonly signal?: AbortSignal;
  /** Used as the current time. @default the system clock */
  readonly now?: Date;
}

export interface PullSelection {
  /** @default all */
  readonly targets?: readonly string[];
  /** @default all */
  readonly sources?: readonly string[];
}

/** A project: a configuration with its warehouse, its jobs and its targets. */
export class Tidemark {
  readonly config: Config;
  readonly #context: JobContext;
  readonly #definitions: Definitions;
  readonly #clients: ServiceClients;

  /** Use `createTidemark`. */
  constructor(config: Config, context: JobContext, definitions: Definitions) {
    this.config = config;
    this.#context = context;
    this.#definitions = definitions;
    this.#clients = new ServiceClients(config, context, context.signal);
  }

  /** Runs a job as `tidemark run` does. A failed source does not reject: see `status` and `pulls` of the result. */
  async run(job: string): Promise<JobResult> {
    const loaded = await loadJob(this.config, this.#context.env, job);
    return runJob(this.config, this.#context, loaded, this.#definitions);
  }

  /** Extracts and loads as `tidemark pull` does. */
  async pull(selection: PullSelection = {}): Promise<RunResult> {
    const { sources } = this.#definitions;
    for (const name of selection.targets ?? []) getTarget(this.config, name);
    for (const name of selection.sources ?? []) findNamed(sources, 'source', name);
    const pulls = assertPulls(this.config, selectPulls(this.config, selection, sources));
    return runPulls(this.config, this.#context, { pulls, sources });
  }

  /** Runs one SELECT on the published warehouse. `params` are the values of `$name`; `asOf` shows every table as of this time. */
  async query(
    sql: string,
    params: Readonly<Record<string, string | number | boolean>> = {},
    { asOf }: { readonly asOf?: Date } = {},
  ): Promise<readonly Row[]> {
    const values = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, toText(name, value)]));
    const session = await openQuerySession({ config: this.config, signal: this.#context.signal, asOf });
    try {
      const rows: Row[] = [];
      const query = await session.prepare(sql, values);
      for await (const part of query.rows()) rows.push(...part);
      return rows;
    } finally {
      await session.close();
    }
  }

  /** The operations of a target as typed methods. */
  client(target: string): ApiClient {
    return createApiClient(this.serviceClient(target));
  }

  /** Calls any operation of a target, also one of your own. */
  serviceClient(target: string): ServiceClient {
    return this.#clients.get(getTarget(this.config, target));
  }

  /** Closes idle connections. */
  async close(): Promise<void> {
    await this.#clients.close();
  }
}

function toText(name: string, value: unknown): string {
  if (isScalar(value)) return String(value);
  throw new TidemarkError('USAGE', `the parameter ${name} ${SCALAR}`);
}

/**
 * Reads a configuration and its plugins.
 * @throws TidemarkError CONFIG with every problem of the configuration, the plugins and the given definitions.
 */
export async function createTidemark(options: TidemarkOptions = {}): Promise<Tidemark> {
  const { env = process.env, log, now, signal = new AbortController().signal } = options;
  const redactor = new Redactor();
  const config = loadConfig(resolve(options.config ?? 'tidemark.yaml'), env, redactor);
  const write = (level: keyof Log) => (line: string) => log?.[level](redactor.text(line));
  const context: JobContext = {
    cwd: config.directory,
    env,
    terminal: undefined,
    clock: now ? frozenClock(now) : systemClock,
    log: { info: write('info'), warn: write('warn'), error: write('error') },
    redactor,
    signal,
  };
  return new Tidemark(config, context, await loadDefinitions(config, options));
}
