import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { HelperOptions } from 'handlebars';
import type { Config } from '../../config/config.ts';
import type { Context } from '../../core/context.ts';
import { errorMessage, TidemarkError } from '../../core/errors.ts';
import { ignoreMissing } from '../../core/fs.ts';
import type { PlaybookSummary } from '../../tell/findings/guide.ts';
import { formatTime } from '../../tell/reports/format.ts';
import { subjectPath } from '../../tell/reports/subjects.ts';
import { readTemplate, type TemplateEngine } from '../../tell/reports/templates.ts';
import type { Moment } from '../../warehouse/moment.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
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

/** What the layout (`reports/partials/site.hbs`) shows besides the data of a template. */
interface PageData {
  readonly title: string;
  readonly about?: string;
  readonly [name: string]: unknown;
}

/** Sends a page. `template` names a file of `reports/serve/`. */
export async function renderPage(exchange: Exchange, template: string, data: PageData, status = 200): Promise<void> {
  const page = await renderTemplate(exchange, template, { about: '', ...data });
  exchange.response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(page),
  });
  exchange.response.end(page);
}

/** Templates write addresses with `{{@root.link PATH NAME PARAMS name=value}}`. @throws Error, which is a fault of the server: the reader cannot do anything about it */
export async function renderTemplate(exchange: Exchange, template: string, data: object): Promise<string> {
  const { templates, files } = exchange;
  const file = `serve/${template}.hbs`;
  const link = (path: string, ...given: readonly unknown[]) => {
    const { hash } = given.at(-1) as HelperOptions;
    const [names, params] = [given.filter((one) => typeof one === 'string'), given.slice(0, -1)];
    const lists = [...params.filter((one) => typeof one !== 'string'), hash] as readonly AddressParams[];
    return pageHref(exchange, path + names.map(encodeURIComponent).join(''), lists.flatMap(listParams));
  };
  try {
    const source = readTemplate(files.roots, file);
    return templates.render(`reports/${file}`, source, { ...data, link, site: await describeSite(exchange) });
  } catch (error) {
    throw new Error(errorMessage(error), { cause: error });
  }
}

/** Names and values; a name may be there twice. In an object, empty values are left out. */
type AddressParams = readonly (readonly [name: string, value: string])[] | Readonly<Record<string, string>>;

function listParams(params: AddressParams): readonly (readonly [name: string, value: string])[] {
  return Array.isArray(params) ? params : Object.entries(params).filter(([, value]) => value !== '');
}

/** The address of a page, with parameters besides those of `path`. The page's `as_of` stays. */
export function pageHref({ url }: Pick<Exchange, 'url'>, path: string, params: AddressParams = []): string {
  const [name = '', fixed] = path.split('?', 2);
  const search = new URLSearchParams(fixed);
  for (const [key, value] of listParams(params)) search.append(key, value);
  const asOf = url.searchParams.get('as_of');
  if (asOf) search.set('as_of', asOf);
  return search.size > 0 ? `${name}?${search}` : name;
}

/** A row of a query of ours: the texts of its columns. */
export type TextRow = Readonly<Record<string, string | null>>;

/** The address of the page of the subject that a row names, if the last run wrote one. It shows the whole history, whatever `as_of` is. */
export function findSubjectPage({ config }: Exchange, row: TextRow): string | undefined {
  const { target, subject_type: type, subject_id: id } = row;
  if (!target || !type || !id) return undefined;
  const path = subjectPath({ target, type, id });
  return existsSync(join(config.output, path)) ? `/reports/${path}` : undefined;
}

/** When the file that readers see was published, in ISO 8601; empty if there is none. */
export async function readPublishedAt({ config }: Pick<Exchange, 'config'>): Promise<string> {
  const found = await stat(warehouseFiles(config.data).published).catch(ignoreMissing);
  return found?.mtime.toISOString() ?? '';
}

/** `/state.json`, which open pages ask for: when the data was published, and how many queries run and wait. */
export async function sendState(exchange: Exchange): Promise<void> {
  const { running, waiting } = exchange.pool.load;
  sendJson(exchange, { publishedAt: await readPublishedAt(exchange), running, waiting });
}

const NAVIGATION = [
  { path: '/', label: 'Home' },
  { path: '/reports', label: 'Reports' },
  { path: '/nights', label: 'Nights' },
  { path: '/tables', label: 'Tables' },
  { path: '/saved', label: 'Saved queries' },
  { path: '/sql', label: 'SQL' },
] as const;

/** What `reports/partials/site-bar.hbs` shows on every page. */
async function describeSite(exchange: Exchange) {
  const { url, nonce, moment } = exchange;
  const kept = [...url.searchParams].filter(([name]) => name !== 'as_of');
  const present = new URLSearchParams(kept);
  return {
    nonce,
    // The page of a report has the mark in a bar of its own.
    homeHref: url.pathname.startsWith('/reports/') ? '' : pageHref(exchange, '/'),
    kept: kept.map(([name, value]) => ({ name, value })),
    asOf: url.searchParams.get('as_of') ?? '',
    asOfText: moment ? formatTime(moment.at.toISOString()) : '',
    presentHref: `?${present}`,
    publishedAt: await readPublishedAt(exchange),
    navigation: NAVIGATION.map(({ path, label }) => ({
      label,
      href: pageHref(exchange, path),
      current: path === url.pathname ? 'page' : path !== '/' && url.pathname.startsWith(`${path}/`) ? 'true' : '',
    })),
  };
}
