import { randomBytes } from 'node:crypto';
import { type IncomingMessage, type RequestListener, type ServerResponse, STATUS_CODES } from 'node:http';
import { linkSignals } from '../../core/abort.ts';
import { errorMessage, TidemarkError } from '../../core/errors.ts';
import { explainSystemError } from '../../core/fs.ts';
import { stripControls } from '../../core/log.ts';
import { sendTables } from './catalogue.ts';
import { sendAsset, sendReportFile, sendReportIndex } from './files.ts';
import { sendHome } from './home.ts';
import { sendNights, sendRun } from './nights.ts';
import { type Exchange, NotFoundError, renderPage, type Site, sendState } from './page.ts';
import { LackError, lackError } from './pool.ts';
import { sendEditor, sendList, sendNames, sendSaved } from './query-pages.ts';
import { RESULT_FORMATS, readMoment, sendResult } from './results.ts';
import { sendRow } from './row.ts';
import { type AccessRules, checkAccess, securityHeaders, toAddress } from './security.ts';
import { sendTable } from './table-page.ts';

/** What answers a path. The first group of the pattern is `name`. */
type Route = readonly [pattern: RegExp, answer: (exchange: Exchange) => Promise<void>];

/** Every address that the server answers; the first match wins. */
const routes: readonly Route[] = [
  [/^\/$/u, sendHome],
  [/^\/reports\/?$/u, sendReportIndex],
  [/^\/nights\/?$/u, sendNights],
  [/^\/runs\/([^/]+)$/u, sendRun],
  [/^\/reports\/(.+)$/u, sendReportFile],
  [/^\/(deadlines\.ics)$/u, sendReportFile],
  [/^\/tables\/?$/u, sendTables],
  [/^\/tables\/([^/]+)$/u, sendTable],
  [/^\/tables\/([^/]+)\/row$/u, sendRow],
  ...RESULT_FORMATS.flatMap((format): readonly Route[] => [
    [new RegExp(`^/query\\.${format}()$`, 'u'), (exchange) => sendResult(exchange, format)],
    [new RegExp(`^/saved/([^/]+)\\.${format}$`, 'u'), (exchange) => sendResult(exchange, format)],
  ]),
  [/^\/saved\/?$/u, sendList],
  [/^\/saved\/([^/]+)$/u, sendSaved],
  [/^\/sql$/u, sendEditor],
  [/^\/sql\/names\.json$/u, sendNames],
  [/^\/state\.json$/u, sendState],
  [/^\/assets\/([\w.-]+)$/u, sendAsset],
];

/**
 * A reader that takes nothing for so long is broken off: neither a query nor a connection is kept for it. Node waits as long once
 * more where a part of the last write has been taken.
 */
const STALL_MS = 30_000;

/** Answers every request: refuses it, finds its route, and sends errors. */
export function createAnswer(site: Site, rules: AccessRules): RequestListener {
  return (request, response) => {
    // Where nothing waits to be taken, a query takes its time.
    response.setTimeout(STALL_MS, () => response.writableLength > 0 && breakOff(request));
    void answer(request, response, site, rules).catch((error: unknown) => {
      site.log.error(`${request.url}: ${errorMessage(error)}`);
      breakOff(request);
    });
  };
}

/** Shows a reader that its answer is not whole. With HTTP/1.0, the end of a connection is that of an answer. */
function breakOff(request: IncomingMessage): void {
  request.socket.resetAndDestroy();
}

async function answer(request: IncomingMessage, response: ServerResponse, site: Site, rules: AccessRules) {
  const nonce = randomBytes(16).toString('base64');
  for (const [name, value] of Object.entries(securityHeaders(nonce))) response.setHeader(name, value);
  const refusal = checkAccess(request, rules);
  if (refusal) {
    response.writeHead(refusal.status, { 'content-type': 'text/plain; charset=utf-8', ...refusal.headers });
    response.end(`${refusal.message}\n`);
    return;
  }
  const { signal, abort } = linkSignals();
  response.once('close', () => abort(new TidemarkError('INTERRUPTED', 'the reader is gone')));
  const reader = request.socket.remoteAddress ?? 'gone';
  const url = new URL(toAddress(request));
  const exchange = { ...site, request, response, url, moment: undefined, name: '', nonce, reader, signal };
  await findAndAnswer(exchange).catch((error: unknown) => (signal.aborted ? undefined : sendError(exchange, error)));
}

async function findAndAnswer(exchange: Exchange): Promise<void> {
  const { pathname } = exchange.url;
  for (const [pattern, answerRoute] of routes) {
    const match = pattern.exec(pathname);
    if (!match) continue;
    return answerRoute({ ...exchange, name: decodeURIComponent(match[1] ?? ''), moment: await readMoment(exchange) });
  }
  throw new NotFoundError(pathname);
}

/** A response that has begun is broken off, so that its reader sees that it is not whole. */
async function sendError(exchange: Exchange, thrown: unknown): Promise<void> {
  const { request, response, log } = exchange;
  const lack = thrown instanceof TidemarkError ? undefined : explainSystemError(thrown);
  const error = lack === undefined ? thrown : lackError(lack);
  const status = errorStatus(error);
  const isHidden = error instanceof LackError;
  if (status === 500 || isHidden) log.error(`${request.url}: ${errorMessage(isHidden ? error.cause : error)}`);
  if (response.headersSent) {
    breakOff(request);
    return;
  }
  // They may quote the address or what a service answered.
  const message = stripControls(status === 500 ? 'internal error' : errorMessage(error));
  const hint = stripControls(error instanceof TidemarkError ? (error.hint ?? '') : '');
  if (status === 503) response.setHeader('retry-after', '5');
  if (request.headers.accept?.includes('text/html')) {
    try {
      const title = STATUS_CODES[status] ?? 'Error';
      return await renderPage(exchange, 'error', { title, message, hint }, status);
    } catch (cause) {
      // The page of an error may have the same fault.
      log.error(`${request.url}: ${errorMessage(cause)}`);
    }
  }
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${message}${hint && `\n${hint}`}\n`);
}

function errorStatus(error: unknown): number {
  if (error instanceof NotFoundError) return 404;
  if (error instanceof URIError) return 400;
  if (!(error instanceof TidemarkError)) return 500;
  if (error.code === 'REFUSED') return 403;
  return error.code === 'UNREACHABLE' || error.code === 'INTERRUPTED' ? 503 : 400;
}
