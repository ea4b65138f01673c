import { type Tokens, tokensOf } from './access.ts';
import type { Intercept } from './answer.ts';
import { createAutoscaler } from './autoscaler/index.ts';
import { configFor } from './config.ts';
import { type Host, host } from './http.ts';
import { createMesh } from './mesh/index.ts';
import { createPlatform } from './platform/index.ts';
import { createScheduler } from './scheduler/index.ts';
import { createSecrets } from './secrets/index.ts';
import { type Flavor, KINDS, type Kind, type RequestRecord, type Sandbox, type SandboxOptions } from './types.ts';

const DAY_MS = 86_400_000;
/** The estate's other tables are sized for this many workspaces. */
const WORKSPACES_AT_SCALE_1 = 240;

/** All five services with their state, before any of them is served. */
function createServices(seed: number, workspaces: number, flavor: Flavor, start: Date) {
  const options = { seed, scale: workspaces / WORKSPACES_AT_SCALE_1, flavor, start };
  return {
    platform: createPlatform(options),
    secrets: createSecrets(options),
    scheduler: createScheduler(options),
    autoscaler: createAutoscaler(options),
    mesh: createMesh(options),
  };
}

export type Services = ReturnType<typeof createServices>;

/** A sandbox whose services' states are typed. */
export interface RunningSandbox extends Sandbox {
  readonly services: Services;
}

export interface StartOptions extends SandboxOptions {
  /** Answers in a service's place where it returns a reply: outages, login pages, cut transfers (a body that throws). */
  readonly intercept?: Intercept;
}

const byKind = <T>(of: (kind: Kind) => T): Readonly<Record<Kind, T>> => ({
  platform: of('platform'),
  secrets: of('secrets'),
  scheduler: of('scheduler'),
  autoscaler: of('autoscaler'),
  mesh: of('mesh'),
});

/** Starts the five services on 127.0.0.1 over an invented estate. Same options and night, same answers, byte for byte. */
export async function startSandbox(options: StartOptions = {}): Promise<RunningSandbox> {
  const { seed = 1, workspaces = WORKSPACES_AT_SCALE_1, flavor = 'documents', port = 0, rate } = options;
  const { rateHeaders = true, latencyMs = 0, intercept, start = new Date('2026-10-01T02:15:00Z') } = options;
  const services = createServices(seed, workspaces, flavor, start);
  const tokens: Readonly<Record<Kind, Tokens>> = byKind((kind) => tokensOf(kind, seed));
  const log: RequestRecord[] = [];
  let night = 0;
  const present = (): Date => new Date(start.getTime() + night * DAY_MS);
  const hosts = new Map<Kind, Host>();
  const close = async (): Promise<void> => {
    await Promise.all([...hosts.values()].map((served) => served.close()));
  };
  try {
    for (const [index, kind] of KINDS.entries()) {
      const place = { port: port === 0 ? 0 : port + index, rate, rateHeaders, latencyMs, intercept };
      hosts.set(kind, await host({ ...place, service: services[kind], flavor, now: present, log }));
    }
  } catch (error) {
    await close(); // a port was taken: leave none of the others open
    throw error;
  }
  const urls = byKind((kind) => hosts.get(kind)!.url);
  return {
    urls,
    tokens,
    services,
    log,
    get night() {
      return night;
    },
    get now() {
      return present();
    },
    advance: () => {
      night++;
      for (const kind of KINDS) services[kind].advance(night, present());
    },
    config: () =>
      configFor({
        sandbox: { urls, tokens },
        organization: services.platform.state.organization,
        services: [...new Set([...services.mesh.state.leaves.values()].map(({ service }) => service))],
        hashicorp: flavor === 'hashicorp',
        rate,
      }),
    close,
  };
}
