import { MINUTE_MS } from '../../src/core/clock.ts';
import { readEstate } from '../estate.ts';
import { createRandom } from '../random.ts';
import { addHidden, bindRoutes } from '../router.ts';
import { TokenStore } from '../tokens.ts';
import type { Request, Response, Route, Service, ServiceOptions, TokenGrant } from '../types.ts';
import { accessRoutes, authorize, liveAccessRoutes } from './access.ts';
import { poolRoutes } from './agent-pools.ts';
import { agentRoutes, agentTokenRoutes } from './agents.ts';
import type { PlatformContext } from './context.ts';
import { createPlatformEstate, type PlatformEstate } from './estate.ts';
import { explorerRoutes } from './explorer.ts';
import { errorDocument, notFound } from './json-api.ts';
import { viewRoutes } from './saved-views.ts';
import { seedAgentPools, seedSavedViews, WorkspaceSeeder } from './seed.ts';
import { tickPlatform } from './tick.ts';
import { workspaceRoutes } from './workspace-list.ts';
import { spreadRunStatuses } from './workspaces.ts';

const ORGANIZATION = 'acme';

/** HCP Terraform sets it and responds with 401 to a request that returns it: docs/services/platform.md#authentication. */
const SESSION_COOKIE = '_atlas_session_data';

/** The platform service over one generated organization. */
export class PlatformService implements Service {
  readonly kind = 'platform';
  readonly base = '/api/v2';
  readonly error = errorDocument;
  readonly state: PlatformContext;
  readonly routes: readonly Route[];
  readonly #seeder: WorkspaceSeeder;
  readonly #estate: PlatformEstate;

  constructor(options: ServiceOptions) {
    const { seed, scale, flavor, start } = options;
    const isHashicorp = flavor === 'hashicorp';
    const estate = createPlatformEstate(options.estate, readEstate(options.estate).platform);
    const at = start.getTime();
    this.#seeder = new WorkspaceSeeder(seed, estate);
    this.#estate = estate;
    const workspaces = this.#seeder.seedWorkspaces(Math.round(scale * 240), at);
    if (isHashicorp) spreadRunStatuses(workspaces);
    const hidden = {
      tokens: new TokenStore('platform', options, []),
      poolRandom: createRandom(`${seed}/platform/new-pools`),
      tokenRandom: createRandom(`${seed}/platform/agent-tokens`),
      viewRandom: createRandom(`${seed}/platform/new-views`),
    };
    const records: Omit<PlatformContext, keyof typeof hidden> = {
      ...options,
      organization: ORGANIZATION,
      newestTool: estate.newestTool,
      projects: [...this.#seeder.projects],
      flapping: workspaces.slice(10, 14).map(({ id }) => id),
      workspaces,
      pools: [],
      agents: [],
      agentTokens: [],
      views: seedSavedViews(estate, createRandom(`${seed}/platform/views`), at),
    };
    this.state = addHidden(records, hidden);
    seedAgentPools(this.state, estate, createRandom(`${seed}/platform/fleet`));
    const tables = [accessRoutes, workspaceRoutes, poolRoutes, agentRoutes];
    if (isHashicorp) tables.push(liveAccessRoutes, agentTokenRoutes);
    if (options.explorer) tables.push(explorerRoutes, viewRoutes(flavor));
    this.routes = bindRoutes(this.state, ...tables).map(ofOrganization);
  }

  authenticate(request: Request, route: Route | undefined): Response | undefined {
    const hasSession = this.state.flavor === 'hashicorp' && request.headers.cookie?.includes(SESSION_COOKIE) === true;
    return hasSession ? errorDocument(401, '') : authorize(this.state, request, route);
  }

  createToken(grant: TokenGrant, now: Date): string {
    return this.state.tokens.create(grant, now);
  }

  onResponse(response: Response): Response {
    if (this.state.flavor === 'spec') return response;
    return { ...response, headers: { ...response.headers, 'set-cookie': `${SESSION_COOKIE}=none; path=/; HttpOnly` } };
  }

  tick(day: number, now: Date): void {
    const { state } = this;
    const random = createRandom(`${state.seed}/platform/night/${day}`);
    tickPlatform({ state, estate: this.#estate, seeder: this.#seeder, random, day, now: now.getTime() });
  }

  /** Agents that respond ping once a minute. */
  live(now: Date): void {
    for (const agent of this.state.agents) {
      const isAlive = agent.status === 'idle' || agent.status === 'busy';
      const silentMs = now.getTime() - (agent.lastPingAt ?? 0);
      if (isAlive && silentMs >= MINUTE_MS) agent.lastPingAt = now.getTime() - (silentMs % MINUTE_MS);
    }
  }
}

/** The route for the one organization of the sandbox: another one in the path is not found. */
function ofOrganization(route: Route): Route {
  if (!route.path.includes(':organization')) return route;
  return {
    ...route,
    handle: (request) => {
      if (request.params.organization !== ORGANIZATION) throw notFound();
      return route.handle(request);
    },
  };
}
