import { stat } from 'node:fs/promises';
import { STATUS_CODES } from 'node:http';
import { errorMessage, TidemarkError } from '../../core/errors.ts';
import { ignoreMissing } from '../../core/fs.ts';
import { formatTime } from '../../tell/reports/format.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
import { RUN } from './cancel.ts';
import type { Exchange } from './route.ts';

/** What the layout (`reports/partials/site.hbs`) shows besides the data of a template. */
export interface PageData {
  readonly title: string;
  readonly about?: string;
  readonly [name: string]: unknown;
}

/** Sends a page. `template` names a file of `reports/serve/`. */
export async function renderPage(exchange: Exchange, template: string, data: PageData, status = 200): Promise<void> {
  const { templates, response } = exchange;
  const site = await describeSite(exchange);
  const page = await templates.render(template, { about: '', ...data, site });
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(page),
    ...(status === 503 && { 'retry-after': '5' }),
  });
  response.end(page);
}

/** Sends an error as a page. */
export async function renderError(exchange: Exchange, error: unknown, status: number): Promise<void> {
  const message = status === 500 ? 'internal error' : errorMessage(error);
  const hint = error instanceof TidemarkError ? (error.hint ?? '') : '';
  await renderPage(exchange, 'error', { title: STATUS_CODES[status] ?? 'Error', message, hint }, status);
}

/** Names and values; a name may be there twice. */
export type AddressParams = readonly (readonly [name: string, value: string])[];

/** The address of a page with parameters; in an object, empty ones are left out. The page's `as_of` stays. */
export function pageHref(
  { url }: Pick<Exchange, 'url'>,
  path: string,
  params: Readonly<Record<string, string>> | AddressParams = {},
): string {
  const isList = (given: typeof params): given is AddressParams => Array.isArray(given);
  const entries = isList(params) ? params : Object.entries(params).filter(([, value]) => value !== '');
  const search = new URLSearchParams();
  for (const [name, value] of entries) search.append(name, value);
  const asOf = url.searchParams.get('as_of');
  if (asOf) search.set('as_of', asOf);
  return search.size > 0 ? `${path}?${search}` : path;
}

/** When the file that readers see was published, in ISO 8601; empty if there is none. */
export async function readPublishedAt({ config }: Pick<Exchange, 'config'>): Promise<string> {
  const found = await stat(warehouseFiles(config.data).published).catch(ignoreMissing);
  return found?.mtime.toISOString() ?? '';
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
export async function describeSite(exchange: Exchange) {
  const { url, nonce, moment } = exchange;
  const kept = [...url.searchParams]
    .filter(([name]) => name !== 'as_of' && name !== RUN)
    .map(([name, value]) => ({ name, value }));
  const present = new URLSearchParams(kept.map(({ name, value }): [string, string] => [name, value]));
  return {
    nonce,
    // The page of a report has the mark in a bar of its own.
    homeHref: url.pathname.startsWith('/reports/') ? '' : pageHref(exchange, '/'),
    path: url.pathname,
    kept,
    asOf: url.searchParams.get('as_of') ?? '',
    asOfText: moment ? formatTime(moment.at.toISOString()) : '',
    presentHref: present.size > 0 ? `?${present}` : url.pathname,
    publishedAt: await readPublishedAt(exchange),
    navigation: NAVIGATION.map(({ path, label }) => ({
      label,
      href: pageHref(exchange, path),
      current: path === url.pathname ? 'page' : path !== '/' && url.pathname.startsWith(`${path}/`) ? 'true' : '',
    })),
  };
}
