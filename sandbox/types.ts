/** The contracts between the HTTP server of the sandbox (`http.ts`) and its six services (`platform/`, `secrets/` …). */

export const KINDS = ['platform', 'secrets', 'scheduler', 'autoscaler', 'mesh', 'registry'] as const;
export type Kind = (typeof KINDS)[number];

/** Events repeat after so many days. */
export const FORTNIGHT = 14;

/** `spec`: exactly what the API documents specify; `hashicorp`: what the real products do where that differs. */
export type Flavor = 'spec' | 'hashicorp';

/** `company`: what a company of some hundred people could have; `hostile`: names and values that careless programs fail on. */
export type EstateName = 'company' | 'hostile';

/** A new token of the sandbox: what it may do, and until when. */
export interface TokenGrant {
  readonly name?: string;
  /** May do everything. Such a token is `management` in Nomad, `root` in Vault, `global-management` in Consul, an owner's on the platform. */
  readonly isManagement?: boolean;
  /** Names of policies that the service has. */
  readonly policies?: readonly string[];
  /** Rules in the language of the product by name of the policy: they become policies of the service. */
  readonly rules?: Readonly<Record<string, string>>;
  /** Platform: the organization access of its team, e.g. `manage-agent-pools`. */
  readonly permissions?: readonly string[];
  /** From then on the service refuses the token. */
  readonly expiresAt?: Date;
}

export interface ServiceOptions {
  readonly seed: number;
  readonly estate: EstateName;
  /** Workspaces on day 0 divided by 240. */
  readonly scale: number;
  readonly flavor: Flavor;
  readonly explorer: boolean;
  /** The time on day 0. */
  readonly start: Date;
}

/** One request as the sandbox received it. Tokens in headers are kept: tests look for them. */
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

/** A request that changed a service, without its token. */
export interface SandboxChange extends Pick<RequestRecord, 'kind' | 'method' | 'path' | 'query' | 'body'> {
  /** The sandbox's time, ISO 8601. */
  readonly at: string;
}

export interface Request {
  readonly method: string;
  readonly path: string;
  /** Decoded values of the route's `:name` segments. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** scheme://host:port of the service, for absolute links. */
  readonly origin: string;
  /** The sandbox's time. */
  readonly now: Date;
}

export interface Response {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The text to send; an iterable is streamed. */
  readonly body?: string | Iterable<string>;
}

interface RouteOptions {
  /** Whether the call changes anything, so that a read-only token is refused. @default by the method */
  readonly writes?: boolean;
  /** Whether the path is at the root of the server instead of below the base path. */
  readonly isAtRoot?: boolean;
  /** Answered without a token, and to any token. */
  readonly isPublic?: boolean;
  /** What a token with rules needs, in the terms of its service; none of them has what has no right. */
  readonly right?: string;
  /** Whether the service passes the call on to a storage plugin. */
  readonly asksPlugin?: boolean;
}

/** One endpoint. A handler may throw an `HttpError`, which becomes the service's own form of an error. */
export interface Route extends RouteOptions {
  readonly method: string;
  /** Below the base path, e.g. `/keymgmt/key/:name`. */
  readonly path: string;
  readonly handle: (request: Request) => Response;
}

/** The endpoints of a service by `METHOD /path`. `context` is what they share: the records, the flavor, the tokens. */
export type RouteTable<C> = Readonly<Record<string, Handler<C> | (RouteOptions & { readonly handle: Handler<C> })>>;
type Handler<C> = (request: Request, context: C) => Response;

/** The part of a request that an error refers to: a place in the body or a query parameter. */
export interface ErrorSource {
  readonly pointer?: string;
  readonly parameter?: string;
}

/** One service: its routes, its form of an error, and how its data changes from day to day. */
export interface Service {
  readonly kind: Kind;
  /** `/api/v2`, `/v1` or nothing. */
  readonly base: string;
  readonly routes: readonly Route[];
  /**
   * The response to a request without a sufficient token, or undefined to let it pass. `route` is undefined for a path
   * that the service does not have.
   */
  readonly authenticate: (request: Request, route: Route | undefined) => Response | undefined;
  /** Keeps the policies of a new token, where the service has endpoints for them. */
  readonly addPolicies?: (grant: TokenGrant) => void;
  /** The service's own form of an error: JSON:API, `{"errors": […]}`, or plain text. */
  readonly error: (status: number, message: string, source?: ErrorSource) => Response;
  /** Changes every response of a route, and every refusal, e.g. adds headers. */
  readonly onResponse?: (response: Response) => Response;
  /** Advances the service's data to the given day. `now` is the new time. */
  readonly tick: (day: number, now: Date) => void;
  /** What happens all the time between two days, where time passes: agents ping, certificates are renewed. */
  readonly live?: (now: Date) => void;
  /** The live state; tests compare with it and damage it. */
  readonly state: unknown;
}
