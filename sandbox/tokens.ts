import { DAY_MS } from '../src/core/clock.ts';
import { createRandom, uuid } from './random.ts';
import type { Kind, Request, Route, ServiceOptions, TokenGrant } from './types.ts';

export type Tokens = Readonly<ReturnType<typeof createTokens>>;

export interface TokenRecord {
  readonly secret: string;
  readonly accessor: string;
  readonly name: string;
  /** `all`: everything; `reads`: all reads, the right of the sandbox's own read token; `rules`: what the policies say. */
  readonly scope: 'all' | 'reads' | 'rules';
  readonly policies: readonly string[];
  readonly permissions: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

/** The two tokens that a service of the sandbox always accepts; they depend on its kind and the seed alone. */
export function createTokens(kind: Kind, seed: number) {
  const random = createRandom(`${seed}/tokens/${kind}`);
  return { read: `sandbox-${kind}-read-${random.hex(24)}`, write: `sandbox-${kind}-write-${random.hex(24)}` };
}

/** Whether a token may call a route. `allows` says it of a token with rules. */
export function permits({ scope }: TokenRecord, route: Route | undefined, allows: () => boolean): boolean {
  return scope === 'all' || (scope === 'reads' ? route?.writes !== true : allows());
}

/** The tokens that one service knows. */
export class TokenStore {
  readonly records = new Map<string, TokenRecord>();
  /** The rules of every policy by its name. */
  readonly policies = new Map<string, string>();
  readonly #kind: Kind;
  readonly #seed: number;
  readonly #headers: readonly string[];

  constructor(kind: Kind, { seed, start }: Pick<ServiceOptions, 'seed' | 'start'>, headers: readonly string[]) {
    this.#kind = kind;
    this.#seed = seed;
    this.#headers = headers;
    const { read, write } = createTokens(kind, seed);
    const createdAt = new Date(start.getTime() - 40 * DAY_MS);
    this.#add(write, { name: 'sandbox write', isManagement: true }, 'all', createdAt);
    this.#add(read, { name: 'sandbox read' }, 'reads', createdAt);
  }

  /** Creates a token and returns its secret. */
  create(grant: TokenGrant, now: Date): string {
    const random = createRandom(`${this.#seed}/tokens/${this.#kind}/${this.records.size}`);
    const secret = this.#kind === 'secrets' ? `hvs.${random.id('', 24)}` : uuid(random);
    for (const [name, rules] of Object.entries(grant.rules ?? {})) this.policies.set(name, rules);
    this.#add(secret, grant, grant.isManagement ? 'all' : 'rules', now);
    return secret;
  }

  /** The token of a request, in the service's own header or as `Authorization: Bearer`, and whether the service accepts it. */
  identify({ headers, now }: Request) {
    const own = this.#headers.map((name) => headers[name]).find((value) => value !== undefined);
    const secret = own ?? /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
    if (secret === '') return { state: 'missing' } as const;
    const token = this.records.get(secret);
    if (!token) return { state: 'unknown' } as const;
    const isExpired = token.expiresAt !== null && token.expiresAt <= now;
    return { state: isExpired ? 'expired' : 'valid', token } as const;
  }

  /** The valid token of a request. */
  find(request: Request): TokenRecord | undefined {
    const { state, token } = this.identify(request);
    return state === 'valid' ? token : undefined;
  }

  #add(secret: string, grant: TokenGrant, scope: TokenRecord['scope'], createdAt: Date): void {
    const random = createRandom(`${this.#seed}/tokens/${this.#kind}/accessor/${this.records.size}`);
    this.records.set(secret, {
      secret,
      accessor: uuid(random),
      name: grant.name ?? '',
      scope,
      policies: [...(grant.policies ?? []), ...Object.keys(grant.rules ?? {})],
      permissions: grant.permissions ?? [],
      createdAt,
      expiresAt: grant.expiresAt ?? null,
    });
  }
}
