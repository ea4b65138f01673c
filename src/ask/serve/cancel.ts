import { TidemarkError } from '../../core/errors.ts';
import { type Exchange, NotFoundError } from './route.ts';

/** The parameter with which a page names a request beforehand. It is no part of what is asked. */
export const RUN = '_run';

/** Of a request that a page named; a reader cancels only what the same address asked. */
function cancelKey(reader: string, run: string | null): string | undefined {
  return run !== null && /^[\w-]{16,64}$/u.test(run) ? `${reader} ${run}` : undefined;
}

/** Aborted when the reader cancels the request, for as long as it is answered. */
export function registerRequest({ cancellable, url, reader, response }: Omit<Exchange, 'signal'>): AbortSignal {
  const controller = new AbortController();
  const key = cancelKey(reader, url.searchParams.get(RUN));
  if (key === undefined) return controller.signal;
  cancellable.set(key, controller);
  response.once('close', () => {
    if (cancellable.get(key) === controller) cancellable.delete(key);
  });
  return controller.signal;
}

const MAX_BODY_BYTES = 1_000;

/** `POST /sql/cancel` with `_run=ID`: no content, so that the page with the query stays. */
export async function cancelQuery({ request, response, reader, cancellable, url }: Exchange): Promise<void> {
  if (request.method !== 'POST') throw new NotFoundError(url.pathname);
  let body = '';
  for await (const part of request.setEncoding('utf8')) {
    body += part;
    if (body.length > MAX_BODY_BYTES) throw new TidemarkError('USAGE', 'the body is too long');
  }
  const key = cancelKey(reader, new URLSearchParams(body).get(RUN));
  cancellable.get(key ?? '')?.abort(new TidemarkError('USAGE', 'the query was cancelled'));
  response.writeHead(204).end();
}
