import type { Problem } from './outcome.ts';

const MOVED = [301, 302, 303, 307, 308];
/** These keep method and body (RFC 9110 §15.4); a Vault standby answers 307 (live-services.md B1). */
const KEEPS_METHOD = [307, 308];

/** Where a redirect may be followed to: the same origin only, so that the token goes nowhere else. */
export function followable(from: URL, method: string, response: Response): URL | undefined {
  const to = destination(from, response);
  if (to?.origin !== from.origin) return undefined;
  return KEEPS_METHOD.includes(response.status) || method === 'GET' ? to : undefined;
}

/** A redirect that was not followed, as a problem that names where it leads. */
export function redirectProblem(from: URL, response: Response): Problem | undefined {
  if (!MOVED.includes(response.status)) return undefined;
  const to = destination(from, response);
  const elsewhere = to !== undefined && to.origin !== from.origin;
  return {
    failure: 'malformed',
    status: response.status,
    words: to === undefined ? 'redirect without a destination' : `redirect to ${elsewhere ? to.origin : to.pathname}`,
    hint: elsewhere
      ? 'the token is not sent to another origin: if that is the service, set `url` of this target to it'
      : 'check `url` of this target',
    again: 'no',
    unsent: false,
  };
}

function destination(from: URL, response: Response): URL | undefined {
  const location = response.headers.get('location');
  if (!MOVED.includes(response.status) || location === null || !URL.canParse(location, from.href)) return undefined;
  return new URL(location, from);
}
