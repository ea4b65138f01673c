import { stringify } from 'yaml';
import { DAY_MS } from '../src/core/clock.ts';
import { AutoscalerService } from './autoscaler.ts';
import { ServiceServer } from './http.ts';
import { MeshService } from './mesh/index.ts';
import { PlatformService } from './platform/index.ts';
import { RegistryService } from './registry.ts';
import type { FaultHook } from './router.ts';
import { SchedulerService } from './scheduler/index.ts';
import { SecretsService } from './secrets/index.ts';
import { createTokens, type TokenStore, type Tokens } from './tokens.ts';
import {
  type Flavor,
  KINDS,
  type Kind,
  type RequestRecord,
  type SandboxChange,
  type Service,
  type ServiceOptions,
  type TokenGrant,
} from './types.ts';

/** The sizes of all other tables are given for this many workspaces. */
const WORKSPACES_AT_SCALE_1 = 240;

/** Generous, since the sandbox is on loopback; the sandbox's own limit is used where it has one. */
const REQUESTS_PER_SECOND = 500;

function createServices(options: ServiceOptions) {
  return {
    platform: new PlatformService(options),
    secrets: new SecretsService(options),
    scheduler: new SchedulerService(options),
    autoscaler: new AutoscalerService(options),
    mesh: new MeshService(options),
    registry: new RegistryService(options),
  };
}

export type Services = ReturnType<typeof createServices>;

export { describeDay, isIncident, lastDay } from './estate.ts';
export type { FaultHook } from './router.ts';
export type { Flavor, SandboxChange } from './types.ts';

export interface StartOptions {
  /** Seed of the generated data; `hostile` is an estate whose names are attacks, for tests. @default 1 */
  readonly seed?: number | 'hostile';
  /** Workspaces on day 0; the other tables grow with the square root of this number. @default 240 */
  readonly workspaces?: number | undefined;
  /** The sandbox's time on day 0. @default 2026-10-01T02:15:00Z */
  readonly start?: Date;
  /** The time at each request: days pass with it, agents ping, certificates are renewed. @default time passes by `tick` alone */
  readonly clock?: () => Date;
  readonly flavor?: Flavor;
  /** Whether the platform has the explorer and its saved views. @default true */
  readonly explorer?: boolean;
  /** Requests per second that each service allows; it responds to more with 429. @default no limit */
  readonly rate?: number;
  /** Whether responses advertise the limit in headers (X-RateLimit-*, Retry-After). @default true */
  readonly rateHeaders?: boolean;
  /** Milliseconds added to each response. @default 0 */
  readonly latencyMs?: number | undefined;
  /** First of six consecutive ports. @default 0, which takes free ones */
  readonly port?: number;
  /** Replaces responses of the services: outages, login pages, interrupted transfers (a body that throws). */
  readonly faultHook?: FaultHook | undefined;
  /** Called after each request that changed something. */
  readonly onChange?: (change: SandboxChange) => void;
}

/** Starts the six services on 127.0.0.1 with generated data. The same options and day give the same responses, byte for byte. */
export async function startSandbox(options: StartOptions = {}): Promise<RunningSandbox> {
  const sandbox = new RunningSandbox(options);
  await sandbox.listen();
  return sandbox;
}

function byKind<T>(value: (kind: Kind) => T): Readonly<Record<Kind, T>> {
  return Object.fromEntries(KINDS.map((kind) => [kind, value(kind)])) as Record<Kind, T>;
}

export class RunningSandbox {
  readonly services: Services;
  /** By kind: `read` may only read, `write` may do everything. */
  readonly tokens: Readonly<Record<Kind, Tokens>>;
  readonly log: RequestRecord[] = [];
  readonly #options: StartOptions;
  readonly #start: Date;
  readonly #servers = new Map<Kind, ServiceServer>();
  #day = 0;

  constructor(options: StartOptions) {
    const { seed = 1, workspaces = WORKSPACES_AT_SCALE_1, flavor = 'spec', explorer = true } = options;
    const { start = new Date('2026-10-01T02:15:00Z') } = options;
    this.#options = options;
    this.#start = start;
    // The hostile estate is one for all tests.
    const [estate, number] = seed === 'hostile' ? (['hostile', 1] as const) : (['company', seed] as const);
    const scale = workspaces / WORKSPACES_AT_SCALE_1;
    this.services = createServices({ seed: number, estate, scale, flavor, explorer, start });
    this.tokens = byKind((kind) => createTokens(kind, number));
  }

  get urls(): Readonly<Record<Kind, string>> {
    return byKind((kind) => this.#servers.get(kind)!.url);
  }

  /** Days since the start, from 0. */
  get day(): number {
    return this.#day;
  }

  get now(): Date {
    return this.#options.clock?.() ?? new Date(this.#start.getTime() + this.#day * DAY_MS);
  }

  /** Lets the days pass that begin until then. */
  advanceTo(time: Date): void {
    while (this.#start.getTime() + (this.#day + 1) * DAY_MS <= time.getTime()) this.tick();
  }

  /** Changes the services as a recorded request did. */
  repeat({ kind, method, path, query, body, at }: SandboxChange): void {
    this.advanceTo(new Date(at));
    const headers = { authorization: `Bearer ${this.tokens[kind].write}` };
    this.#servers.get(kind)!.handle({ method, path, query, body, headers, now: new Date(at) });
  }

  async listen(): Promise<void> {
    const { flavor = 'spec', port = 0, rate, rateHeaders = true, latencyMs = 0, faultHook, onChange } = this.#options;
    const now = () => this.#passTime();
    const common = { flavor, rate, rateHeaders, latencyMs, faultHook, onChange, log: this.log, now };
    try {
      for (const [index, kind] of KINDS.entries()) {
        const options = { ...common, service: this.services[kind], port: port === 0 ? 0 : port + index };
        this.#servers.set(kind, await new ServiceServer(options).listen());
      }
    } catch (error) {
      await this.close(); // a port was in use: leave none of the others open
      throw error;
    }
  }

  /** A token with the given rights, such as `{ rules: { ro: 'namespace "default" { policy = "read" }' } }`. */
  createToken(kind: Kind, grant: TokenGrant): string {
    const service: Service = this.services[kind];
    const { tokens } = service.state as { readonly tokens?: TokenStore };
    if (tokens === undefined) throw new Error(`${kind} has no tokens`);
    service.addPolicies?.(grant);
    return tokens.create(grant, this.now);
  }

  /** Advances all services by one day. */
  tick(): void {
    this.#day++;
    const now = new Date(this.#start.getTime() + this.#day * DAY_MS);
    for (const kind of KINDS) this.services[kind].tick(this.#day, now);
  }

  /** The time of a request, up to which the services have lived. */
  #passTime(): Date {
    const { now } = this;
    if (!this.#options.clock) return now;
    this.advanceTo(now);
    for (const kind of KINDS) (this.services[kind] as Service).live?.(now);
    return now;
  }

  /** The text of a complete `tidemark.yaml`. It contains the tokens: they open nothing else. */
  config(): string {
    const { platform, mesh } = this.services;
    const services = [...new Set([...mesh.state.leaves.values()].map(({ Service }) => Service))];
    const isHashicorp = this.#options.flavor === 'hashicorp';
    const common = {
      limits: { requestsPerSecond: this.#options.rate ?? REQUESTS_PER_SECOND, concurrency: 8 },
      ...(isHashicorp ? { flavor: 'hashicorp' } : {}),
    };
    const access = (kind: Kind) => ({ token: this.tokens[kind].read, writeToken: this.tokens[kind].write });
    const document = {
      data: './data',
      output: './out',
      targets: [
        {
          name: 'acme',
          kind: 'platform',
          url: this.urls.platform,
          organization: platform.state.organization,
          ...(this.#options.explorer === false ? { explorer: 'workspaces' } : {}),
          ...access('platform'),
          ...common,
        },
        { name: 'vault', kind: 'secrets', url: this.urls.secrets, ...access('secrets'), ...common },
        {
          name: 'nomad',
          kind: 'scheduler',
          url: this.urls.scheduler,
          ...access('scheduler'),
          // Nomad lists all policies to management tokens only.
          ...(isHashicorp ? { managementToken: 'lists all ACL policies' } : {}),
          namespace: '*',
          ...common,
        },
        { name: 'scaler', kind: 'autoscaler', url: this.urls.autoscaler, ...common },
        { name: 'consul', kind: 'mesh', url: this.urls.mesh, ...access('mesh'), services: services, ...common },
        // As a mirror: the addresses of what is in use name the public registry.
        { name: 'registry', kind: 'registry', url: this.urls.registry, host: 'registry.terraform.io', ...common },
      ],
    };
    return stringify(document, { aliasDuplicateObjects: false });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }
}
