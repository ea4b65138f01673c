import { createRandom } from './prng.ts';
import type { Ask, Kind } from './types.ts';

export interface Tokens {
  readonly read: string;
  readonly write: string;
}

/** The two tokens that a service of the sandbox takes; they depend on nothing but its seed. */
export function tokensOf(kind: Kind, seed: number): Tokens {
  const random = createRandom(`${seed}/tokens/${kind}`);
  return { read: `sandbox-${kind}-read-${random.hex(24)}`, write: `sandbox-${kind}-write-${random.hex(24)}` };
}

/** The token of a request: the first of the named headers that is there, else `Authorization: Bearer`. */
export function tokenIn(ask: Ask, ...headerNames: readonly string[]): string | undefined {
  for (const name of headerNames) {
    const value = ask.headers[name.toLowerCase()];
    if (value !== undefined) return value;
  }
  return /^Bearer +(\S+)$/i.exec(ask.headers.authorization ?? '')?.[1];
}

/** What the token permits; undefined for a token that is missing or unknown. */
export function accessOf(token: string | undefined, tokens: Tokens): 'read' | 'write' | undefined {
  if (token === tokens.write) return 'write';
  return token === tokens.read ? 'read' : undefined;
}
