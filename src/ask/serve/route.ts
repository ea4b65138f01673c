import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../../config/config.ts';
import type { Context } from '../../core/context.ts';
import { TidemarkError } from '../../core/errors.ts';
import type { PlaybookSummary } from '../../tell/findings/guide.ts';
import type { TemplateEngine } from '../../tell/reports/templates.ts';
import type { Moment } from '../../warehouse/moment.ts';
import type { SqlFiles } from '../../warehouse/sql-files.ts';
import type { WorkerPool } from './pool.ts';

/** What all answers of a server share. */
export interface Site extends Pick<Context, 'clock' | 'log'> {
  readonly config: Config;
  readonly pool: WorkerPool;
  readonly files: SqlFiles;
  readonly templates: TemplateEngine;
  /** Files of `/assets/` by name. */
  readonly assets: ReadonlyMap<string, Buffer>;
  readonly playbooks: () => Promise<readonly PlaybookSummary[]>;
  /** The zone of days. */
  readonly readTimeZone: () => Promise<string>;
}

/** What a route answers with. */
export interface Exchange extends Site {
  readonly request: IncomingMessage;
  readonly url: URL;
  /** The moment that the parameter `as_of` of the address names. */
  readonly moment: Moment | undefined;
  /** The part of the path that the route's pattern captured, decoded. */
  readonly name: string;
  readonly response: ServerResponse;
  /** Whose queries share fairly: the address. */
  readonly reader: string;
  /** Aborted when the reader is gone: also one who cancels, since a browser closes the connection then. */
  readonly signal: AbortSignal;
  /** For the scripts and styles of a page. */
  readonly nonce: string;
}

/** The path names nothing. */
export class NotFoundError extends TidemarkError {
  constructor(path: string, hint?: string) {
    super('USAGE', `there is no ${path}`, { hint });
  }
}

export function sendJson({ response }: Exchange, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
  response.end(`${JSON.stringify(value)}\n`);
}
