/** The contracts between the sandbox's HTTP harness (`http.ts`) and its five services (`platform/`, `secrets/` …). */

export type Kind = 'platform' | 'secrets' | 'scheduler' | 'autoscaler' | 'mesh';
export const KINDS: readonly Kind[] = ['platform', 'secrets', 'scheduler', 'autoscaler', 'mesh'];

/** `documents`: exactly what the three API documents say; `hashicorp`: what the real products do where that differs. */
export type Flavor = 'documents' | 'hashicorp';

export interface SandboxOptions {
  /** Seed of the invented estate. @default 1 */
  readonly seed?: number;
  /** Workspaces on night 0; the rest of the estate grows with it, more slowly. @default 240 */
  readonly workspaces?: number;
  /** The sandbox's present on night 0. @default 2026-10-01T02:15:00Z */
  readonly start?: Date;
  readonly flavor?: Flavor;
  /** Requests a second that each service allows; beyond it answers 429. @default no limit */
  readonly rate?: number;
  /** Whether the limit is told in headers (X-RateLimit-*, Retry-After) or only enforced. @default true */
  readonly rateHeaders?: boolean;
  /** Milliseconds added to each answer. @default 0 */
  readonly latencyMs?: number;
  /** First of five consecutive ports. @default 0, which takes free ones */
  readonly port?: number;
}

/** One request as the sandbox saw it; secrets in headers are kept, since tests look for them. */
export interface RequestRecord {
  readonly kind: Kind;
  readonly method: string;
  /** Path as sent, without the query. */
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  status: number;
}

export interface Ask {
  readonly method: string;
  readonly path: string;
  /** Decoded values of the route's `:name` segments. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** scheme://host:port of the service, for absolute links. */
  readonly origin: string;
  /** The sandbox's present. */
  readonly now: Date;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text as it goes out; an iterable is streamed. */
  readonly body?: string | Iterable<string>;
}

export interface Route {
  readonly method: string;
  /** Below the base path, e.g. `/keymgmt/key/:name`. */
  readonly path: string;
  /** Whether the call changes anything (a read-only token is refused). */
  readonly writes?: boolean;
  readonly answer: (ask: Ask) => Reply;
}

/** One service: its routes, how it names errors, and how its part of the estate moves on. */
export interface Service {
  readonly kind: Kind;
  /** `/api/v2` or `/v1`. */
  readonly base: string;
  readonly routes: readonly Route[];
  /** The answer to a request without a good token, or undefined to let it pass. `write` says whether the route changes anything. */
  readonly authenticate: (ask: Ask, write: boolean) => Reply | undefined;
  /** The service's own form of an error: JSON:API, `{"errors": […]}`, or plain text. */
  readonly error: (status: number, message: string) => Reply;
  /** Moves the service's part of the estate to the next night. `now` is the new present. */
  readonly advance: (night: number, now: Date) => void;
  /** The live state, for tests to compare with and to damage. */
  readonly state: unknown;
}

export interface Sandbox {
  readonly urls: Readonly<Record<Kind, string>>;
  /** Tokens by kind: `read` may only read, `write` may do all. */
  readonly tokens: Readonly<Record<Kind, { readonly read: string; readonly write: string }>>;
  readonly services: Readonly<Record<Kind, Service>>;
  readonly log: RequestRecord[];
  readonly night: number;
  readonly now: Date;
  /** Moves everything on by one night (24 h). */
  advance(): void;
  /** A complete `tidemark.yaml` for this sandbox. */
  config(): string;
  close(): Promise<void>;
}
