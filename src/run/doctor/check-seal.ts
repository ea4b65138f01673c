import { formatError } from '../../core/errors.ts';
import type { Redactor } from '../../core/redact/redactor.ts';
import { ServiceError } from '../../http/errors.ts';
import type { ServiceClient } from '../../services/client.ts';
import { toFields } from '../../services/token/describe-token.ts';
import { readHealth } from '../../services/token/operations.ts';
import type { TokenAnswer } from './check-token.ts';
import type { SourceProbe } from './probe-sources.ts';

/** How each request of the checks failed; undefined for one that did not. */
function listErrors(answer: TokenAnswer, probes: readonly SourceProbe[]): readonly (ServiceError | undefined)[] {
  const isAsked = answer.info !== undefined || answer.error !== undefined;
  return [...probes.map(({ error }) => error), ...(isAsked ? [answer.error] : [])];
}

/** The error, if nothing responded at all. */
export function findUnreachable(answer: TokenAnswer, probes: readonly SourceProbe[]): ServiceError | undefined {
  const errors = listErrors(answer, probes);
  return errors.some((error) => error === undefined || error.status !== undefined) ? undefined : errors[0];
}

/** The answer of a server that answers nobody, if this is one: nothing is then known of the token and its rights. */
export function findSealed(answer: TokenAnswer, probes: readonly SourceProbe[]): ServiceError | undefined {
  const errors = listErrors(answer, probes);
  return errors.every((error) => error?.failure === 'sealed' || error?.status === 501) ? errors[0] : undefined;
}

/** Why a server answers nobody, and what to do. */
export async function describeSealed(client: ServiceClient, error: ServiceError, redactor: Redactor): Promise<string> {
  const { initialized, sealed, standby } = await askHealth(client);
  if (initialized === false) return 'not initialized: initialize it (`vault operator init`), then unseal it';
  if (sealed === true) return 'sealed: unseal it (`vault operator unseal`)';
  if (standby === true) return 'a standby that knows no active node: start or unseal the active one';
  return redactor.text(formatError(error));
}

/** Nothing where the service has no such endpoint. */
async function askHealth(client: ServiceClient): Promise<Readonly<Record<string, unknown>>> {
  try {
    return toFields((await client.call(readHealth)).json());
  } catch (error) {
    if (error instanceof ServiceError) return {};
    throw error;
  }
}
