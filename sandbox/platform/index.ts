import { MINUTE_MS } from '../../src/core/clock.ts';
import { readEstate } from '../estate.ts';
import { createRandom, words } from '../random.ts';
import { addHidden, bindRoutes, jsonResponse } from '../router.ts';
import { permits, type TokenRecord, TokenStore } from '../tokens.ts';
import type { Request, Response, Route, RouteTable, Service, ServiceOptions } from '../types.ts';
import { poolRoutes } from './agent-pools.ts';
import { agentRoutes, agentTokenRoutes } from './agents.ts';
import { createPlatformEstate, type PlatformContext, type PlatformEstate } from './context.ts';
import { explorerRoutes, viewRoutes } from './explorer.ts';
import { documentResponse, errorDocument, notFound } from './json-api.ts';
import { createSavedView, isAlive, seedAgentPools, WorkspaceSeeder } from './seed.ts';
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
    const random = createRandom(`${seed}/platform/workspaces`);
    const workspaces = Array.from({ length: Math.round(scale * 240) }, () => this.#seeder.createWorkspace(at, random));
    if (isHashicorp) spreadRunStatuses(workspaces);
    const initial = createRandom(`${seed}/platform/views`);
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
      views: estate.views.map((plan) => createSavedView(plan, at, initial)),
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
    const token = this.state.tokens.find(request);
    if (hasSession || !token) return errorDocument(401, '');
    // A valid token without the permission gets 404, never 403.
    return permits(token, route, () => allows(token, route)) ? undefined : errorDocument(404, '');
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
      const silentMs = now.getTime() - (agent.lastPingAt ?? 0);
      if (isAlive(agent.status) && silentMs >= MINUTE_MS) agent.lastPingAt = now.getTime() - (silentMs % MINUTE_MS);
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

/** The organization access of a team that each part of the service needs. */
const MANAGE_POOLS = 'manage-agent-pools';
const READ_WORKSPACES = 'read-workspaces';

const VERSIONS = { 'tfp-api-version': '2.6', 'tfp-appname': 'HCP Terraform' };

/** Who a token is, what the organization has, and what a client asks first: docs/services/platform.md#authentication. */
const accessRoutes: RouteTable<PlatformContext> = {
  'GET /ping': ping,
  'GET /.well-known/terraform.json': { isAtRoot: true, isPublic: true, handle: discoveryResponse },
};
const liveAccessRoutes: RouteTable<PlatformContext> = {
  'GET /account/details': account,
  'GET /organizations/:organization': showOrganization,
  'GET /organizations/:organization/entitlement-set': entitlements,
};

function ping(_request: Request, context: PlatformContext): Response {
  const more = context.flavor === 'hashicorp' ? { 'x-tfe-version': '', 'x-ratelimit-limit': '30' } : {};
  return { status: 204, headers: { ...VERSIONS, ...more } };
}

function account(request: Request, context: PlatformContext): Response {
  const token = context.tokens.find(request)!;
  const name = token.name.replaceAll(' ', '-') || 'tidemark';
  const attributes = {
    username: name,
    'is-service-account': token.scope === 'rules',
    'auth-method': 'hcp_sso',
    'avatar-url': null,
    password: null,
    'v2-only': true,
    permissions: { 'can-create-organizations': false, 'can-change-email': false, 'can-change-username': false },
  };
  return documentResponse(200, {
    data: {
      id: createRandom(token.accessor).id('user-', 16),
      type: 'users',
      attributes,
      relationships: { 'authentication-tokens': { links: { related: '/api/v2/users/me/authentication-tokens' } } },
      links: { self: '/api/v2/account/details' },
    },
  });
}

function showOrganization(request: Request, context: PlatformContext): Response {
  const token = context.tokens.find(request);
  const isOwner = token?.scope === 'all';
  return documentResponse(200, {
    data: {
      id: context.organization,
      type: 'organizations',
      attributes: {
        name: context.organization,
        'external-id': createRandom(context.organization).id('org-', 16),
        'plan-is-enterprise': false,
        permissions: {
          'can-update': isOwner,
          'can-destroy': isOwner,
          'can-manage-agent-pools': isOwner || token?.permissions.includes(MANAGE_POOLS),
          'can-access-via-teams': true,
          'can-read-explorer': isOwner || token?.scope === 'reads' || token?.permissions.includes(READ_WORKSPACES),
        },
      },
      relationships: {
        'entitlement-set': { links: { related: `/api/v2/organizations/${context.organization}/entitlement-set` } },
      },
      links: { self: `/api/v2/organizations/${context.organization}` },
    },
  });
}

function entitlements(_request: Request, context: PlatformContext): Response {
  const id = createRandom(context.organization).id('org-', 16);
  const attributes = Object.fromEntries(ENTITLEMENTS.map((name) => [name, true]));
  const self = `/api/v2/entitlement-sets/${id}`;
  return documentResponse(200, { data: { id, type: 'entitlement-sets', attributes, links: { self } } });
}

/** What the plan of the organization includes. */
export const ENTITLEMENTS = words(`
  agents audit-logging cost-estimation global-run-tasks module-tests-generation operations policy-enforcement
  private-module-registry run-tasks self-serve-billing sentinel sso state-storage teams usage-reporting
  user-limit vcs-integrations
`);

function allows({ permissions }: TokenRecord, route: Route | undefined): boolean {
  const path = route?.path ?? '';
  if (/explorer|\/workspaces$/.test(path)) return permissions.includes(READ_WORKSPACES);
  return /agent/.test(path) ? permissions.includes(MANAGE_POOLS) : true;
}

/** The services of the host, as `terraform login` and go-tfe discover them. */
function discoveryResponse(): Response {
  return jsonResponse({
    'modules.v1': '/api/registry/v1/modules/',
    'providers.v1': '/api/registry/v1/providers/',
    'state.v2': '/api/v2/',
    'tfe.v2': '/api/v2/',
    'tfe.v2.1': '/api/v2/',
    'tfe.v2.2': '/api/v2/',
  });
}
