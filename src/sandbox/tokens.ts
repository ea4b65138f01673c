import { createRandom } from './prng.ts';
import type { Kind, Request } from './types.ts';

export interface Tokens {
  readonly read: string;
  readonly write: string;
}

/** The two tokens that a service of the sandbox accepts; they depend on its kind and the seed alone. */
export function createTokens(kind: Kind, seed: number): Tokens {
  const random = createRandom(`${seed}/tokens/${kind}`);
  return { read: `sandbox-${kind}-read-${random.hex(24)}`, write: `sandbox-${kind}-write-${random.hex(24)}` };
}

/** The token of a request: the first of the named headers that is present, else `Authorization: Bearer`. */
export function readToken(request: Request, ...headerNames: readonly string[]): string | undefined {
  for (const name of headerNames) {
    const value = request.headers[name];
    if (value !== undefined) return value;
  }
  return /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
}

/** What a token permits; undefined for a token that is missing or unknown. */
export function grantedAccess(token: string | undefined, tokens: Tokens): 'read' | 'write' | undefined {
  if (token === tokens.write) return 'write';
  return token === tokens.read ? 'read' : undefined;
}
