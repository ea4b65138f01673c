import type { HttpFailure } from './errors.ts';

const REDIRECTS = [301, 302, 303, 307, 308];
/** Of a destination in a message. */
const MAX_DESTINATION_LENGTH = 200;
/** These keep method and body (RFC 9110 §15.4). A Vault standby answers 307 (docs/services/secrets.md#real-product). */
const KEEPS_METHOD = [307, 308];

/** The destination of a redirect that may be followed: within the origin only, so that the token is sent nowhere else. */
export function sameOriginRedirect(from: URL, method: string, response: Response): URL | undefined {
  const to = parseDestination(from, response);
  if (to?.origin !== from.origin) return undefined;
  return KEEPS_METHOD.includes(response.status) || method === 'GET' ? to : undefined;
}

/** The failure of a redirect that was not followed; undefined for any other response. */
export function redirectError(from: URL, response: Response): HttpFailure | undefined {
  if (!REDIRECTS.includes(response.status)) return undefined;
  const to = parseDestination(from, response);
  const isElsewhere = to !== undefined && to.origin !== from.origin;
  return {
    failure: 'malformed',
    status: response.status,
    message:
      to === undefined
        ? 'redirect without a destination'
        : `redirect to ${(isElsewhere ? to.origin : to.pathname).slice(0, MAX_DESTINATION_LENGTH)}`,
    hint: isElsewhere
      ? 'the token is not sent to another origin: if that is the service, set `url` of this target to it'
      : 'check `url` of this target',
  };
}

function parseDestination(from: URL, response: Response): URL | undefined {
  const location = response.headers.get('location');
  if (!REDIRECTS.includes(response.status) || location === null || !URL.canParse(location, from.href)) return undefined;
  return new URL(location, from);
}
