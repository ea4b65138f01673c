import { MINUTE_MS } from '../../src/core/clock.ts';
import { createRandom } from '../random.ts';
import { TokenStore } from '../tokens.ts';
import type { EstateName, Request, Resource, Response, Route, Service, ServiceOptions, TokenGrant } from '../types.ts';
import { PlatformAccess } from './access.ts';
import { AgentPools } from './agent-pools.ts';
import { Agents, AgentTokens } from './agents.ts';
import { COMPANY_PLATFORM } from './company.ts';
import type { PlatformEstate } from './estate.ts';
import { Explorer } from './explorer.ts';
import { createExplorerViews } from './explorer-views.ts';
import { HOSTILE_PLATFORM } from './hostile.ts';
import { errorDocument, notFound } from './json-api.ts';
import { SavedViews } from './saved-views.ts';
import { type PlatformState, seedAgentPools, seedSavedViews, WorkspaceSeeder } from './seed.ts';
import { tickPlatform } from './tick.ts';
import { WorkspaceList } from './workspace-list.ts';
import { spreadRunStatuses } from './workspaces.ts';

const ORGANIZATION = 'acme';

const ESTATES: Readonly<Record<EstateName, PlatformEstate>> = {
  company: COMPANY_PLATFORM,
  hostile: HOSTILE_PLATFORM,
};

/** HCP Terraform sets it and responds with 401 to a request that returns it: docs/services/platform.md#authentication. */
const SESSION_COOKIE = '_atlas_session_data';

/** The platform service over one generated organization. */
export class PlatformService implements Service {
  readonly kind = 'platform';
  readonly base = '/api/v2';
  readonly error = errorDocument;
  readonly state: PlatformState;
  readonly routes: readonly Route[];
  readonly #options: ServiceOptions;
  readonly #tokens: TokenStore;
  readonly #access: PlatformAccess;
  readonly #seeder: WorkspaceSeeder;
  readonly #estate: PlatformEstate;

  constructor(options: ServiceOptions) {
    const { seed, scale, flavor, start, explorer: hasExplorer } = options;
    const estate = ESTATES[options.estate];
    const at = start.getTime();
    this.#options = options;
    this.#tokens = new TokenStore('platform', options, []);
    this.#access = new PlatformAccess(ORGANIZATION, this.#tokens, flavor);
    this.#seeder = new WorkspaceSeeder(seed, estate);
    this.#estate = estate;
    const workspaces = this.#seeder.seedWorkspaces(Math.round(scale * 240), at);
    if (flavor === 'hashicorp') spreadRunStatuses(workspaces);
    const explorer = new Explorer(createExplorerViews({ organization: ORGANIZATION, workspaces }, flavor), flavor);
    const views = new SavedViews(options, explorer);
    const agents = new Agents(flavor);
    const pools = new AgentPools(ORGANIZATION, options, workspaces, agents);
    views.records.push(...seedSavedViews(estate, createRandom(`${seed}/platform/views`), at));
    this.state = {
      organization: ORGANIZATION,
      newestTool: estate.newestTool,
      projects: [...this.#seeder.projects],
      flapping: workspaces.slice(10, 14).map(({ id }) => id),
      workspaces,
      pools: pools.records,
      agents: agents.records,
      views: views.records,
    };
    seedAgentPools(this.state, estate, { random: createRandom(`${seed}/platform/fleet`), at, scale, flavor });
    const resources: readonly Resource[] = [
      this.#access,
      ...(hasExplorer ? [explorer, views] : []),
      new WorkspaceList(ORGANIZATION, workspaces),
      pools,
      agents,
      new AgentTokens(options, pools.records),
    ];
    this.routes = [...resources.flatMap(({ routes }) => routes.map(ofOrganization))];
  }

  authenticate(request: Request, route: Route | undefined): Response | undefined {
    const hasSession = this.#isHashicorp && request.headers.cookie?.includes(SESSION_COOKIE) === true;
    return hasSession ? errorDocument(401, '') : this.#access.authorize(request, route);
  }

  createToken(grant: TokenGrant, now: Date): string {
    return this.#tokens.create(grant, now);
  }

  onResponse(response: Response): Response {
    if (!this.#isHashicorp) return response;
    return { ...response, headers: { ...response.headers, 'set-cookie': `${SESSION_COOKIE}=none; path=/; HttpOnly` } };
  }

  tick(day: number, now: Date): void {
    const random = createRandom(`${this.#options.seed}/platform/night/${day}`);
    const { state } = this;
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

  get #isHashicorp(): boolean {
    return this.#options.flavor === 'hashicorp';
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
