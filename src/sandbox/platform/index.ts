import { accessOf, tokenIn, tokensOf } from '../access.ts';
import { createRandom } from '../prng.ts';
import type { Flavor, Route, Service } from '../types.ts';
import { agentRoutes } from './agents.ts';
import { NEWEST_TOOL } from './catalogue.ts';
import { createExplorer } from './explorer.ts';
import { createViewsOf } from './fields.ts';
import { createFleet } from './fleet.ts';
import { advanceFleet } from './fleet-nights.ts';
import { errorReply } from './json-api.ts';
import { advanceWorkspaces } from './nights.ts';
import { poolRoutes } from './pools.ts';
import { advanceViews, createViews } from './saved-views.ts';
import { createStacks } from './stacks.ts';
import type { PlatformState } from './state.ts';
import { viewRoutes } from './views.ts';
import { createProjects, createWorkspaces, type Nursery } from './workspaces.ts';

export const ORGANIZATION = 'acme';

export interface PlatformOptions {
  readonly seed: number;
  /** Workspaces on night 0 divided by 240. */
  readonly scale: number;
  readonly flavor: Flavor;
  readonly start: Date;
}

export type PlatformService = Service & { readonly state: PlatformState };

/** HCP Terraform sets it, and a client that sends it back is told 401 whatever its token (live-services.md A1). */
const SESSION_COOKIE = '_atlas_session_data';

const settingCookie = (route: Route): Route => ({
  ...route,
  answer: (ask) => {
    const reply = route.answer(ask);
    return { ...reply, headers: { ...reply.headers, 'set-cookie': `${SESSION_COOKIE}=none; path=/; HttpOnly` } };
  },
});

/** The organization platform of platform.md over an invented organization. */
export function createPlatform({ seed, scale, flavor, start }: PlatformOptions): PlatformService {
  const at = start.getTime();
  const stacks = createStacks(createRandom(`${seed}/platform/stacks`));
  const nursery: Nursery = { seed, stacks, projects: createProjects(seed) };
  const workspaces = createWorkspaces(Math.round(scale * 240), at, nursery);
  const state: PlatformState = {
    organization: ORGANIZATION,
    newestTool: NEWEST_TOOL,
    projects: [...nursery.projects],
    flapping: workspaces.slice(10, 14).map(({ id }) => id),
    workspaces,
    pools: [],
    agents: [],
    views: createViews(createRandom(`${seed}/platform/views`), at),
  };
  createFleet(state, createRandom(`${seed}/platform/fleet`), at, scale, flavor);
  const views = createViewsOf(state, flavor);
  const explorer = createExplorer(state, views, flavor);
  const tokens = tokensOf('platform', seed);
  const routes: Route[] = [
    { method: 'GET', path: '/ping', answer: () => ({ status: 204, headers: { 'tfp-api-version': '2.6' } }) },
    ...explorer.routes,
    ...viewRoutes(state, views, explorer, seed, flavor),
    ...poolRoutes(state, seed, flavor),
    ...agentRoutes(state, flavor),
  ];
  return {
    kind: 'platform',
    base: '/api/v2',
    state,
    routes: flavor === 'hashicorp' ? routes.map(settingCookie) : routes,
    // A good token without the permission is told 404, never 403 (platform.md, Authentication).
    authenticate: (ask, write) => {
      const session = flavor === 'hashicorp' && ask.headers.cookie?.includes(SESSION_COOKIE) === true;
      const access = session ? undefined : accessOf(tokenIn(ask), tokens);
      if (access === undefined) return errorReply(401, '');
      return write && access === 'read' ? errorReply(404, '') : undefined;
    },
    error: errorReply,
    advance: (night, now) => {
      const random = createRandom(`${seed}/platform/night/${night}`);
      advanceWorkspaces(state, random, night, now.getTime(), nursery);
      advanceFleet(state, random, night, now.getTime());
      advanceViews(state, random, night, now.getTime());
    },
  };
}
