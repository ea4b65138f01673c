import { createRandom } from '../prng.ts';
import type { Ask, Flavor, Reply, Route } from '../types.ts';
import { requireOrganization } from './explorer.ts';
import { answering, dataOf, documentReply, type Json, notFound, Refusal } from './json-api.ts';
import { envelope, itemsOn, pageOf } from './paging.ts';
import { poolWish } from './pool-body.ts';
import { includedWorkspaces, type Occasion, poolDocument } from './pool-documents.ts';
import type { PlatformState, Pool } from './state.ts';

export function poolOf({ params }: Ask, { pools }: PlatformState): Pool {
  const pool = pools.find(({ id }) => id === params.id);
  if (!pool) throw notFound();
  return pool;
}

const INCLUDABLE: Readonly<Record<Flavor, readonly string[]>> = {
  documents: ['workspaces'],
  hashicorp: ['workspaces', 'stacks', 'hyok-configurations'],
};

function included(ask: Ask, state: PlatformState, pools: readonly Pool[], flavor: Flavor): Json {
  const wanted = (ask.query.get('include') ?? '').split(',').filter((name) => name !== '');
  for (const name of wanted) {
    if (INCLUDABLE[flavor].includes(name)) continue;
    throw new Refusal(400, `"${name}" is not a valid include parameter`, { parameter: 'include' });
  }
  return wanted.includes('workspaces') ? { included: includedWorkspaces(state, pools) } : {};
}

/** Pools that the named workspace may use: those of the whole organization, and those that allow it. */
function usableBy(name: string, state: PlatformState): (pool: Pool) => boolean {
  const ids = new Set(state.workspaces.filter((workspace) => workspace.name === name).map(({ id }) => id));
  return (pool) => ids.size > 0 && (pool.organizationScoped || pool.allowed.some((id) => ids.has(id)));
}

function matching(ask: Ask, state: PlatformState, flavor: Flavor): Pool[] {
  const q = ask.query.get('q')?.toLowerCase() ?? '';
  const workspace =
    ask.query.get('filter[allowed_workspaces][name]') ??
    (flavor === 'hashicorp' ? ask.query.get('filter[allowed-workspaces][name]') : null);
  const usable = workspace === null ? () => true : usableBy(workspace, state);
  return state.pools.filter((pool) => pool.name.toLowerCase().includes(q) && usable(pool));
}

function sorted(ask: Ask, pools: Pool[]): Pool[] {
  const sort = ask.query.get('sort');
  if (sort === null) return pools;
  const key = sort.replace(/^-/, '');
  if (key !== 'name' && key !== 'created-at') {
    throw new Refusal(400, 'sort must be name or created-at', { parameter: 'sort' });
  }
  const value = (pool: Pool): string | number => (key === 'name' ? pool.name : pool.createdAt);
  const direction = sort.startsWith('-') ? -1 : 1;
  return pools.sort((a, b) => (value(a) === value(b) ? 0 : value(a) < value(b) ? -direction : direction));
}

/** Agent pools: list, show, create, update, delete. */
export function poolRoutes(state: PlatformState, seed: number, flavor: Flavor): Route[] {
  const random = createRandom(`${seed}/platform/new-pools`);
  const single = (status: number, pool: Pool, occasion: Occasion, extra: Json = {}): Reply =>
    documentReply(status, { data: poolDocument(state, pool, occasion, flavor), ...extra });

  const list = (ask: Ask): Reply => {
    requireOrganization(ask, state);
    const page = pageOf(ask);
    const found = sorted(ask, matching(ask, state, flavor));
    const pools = itemsOn(found, page);
    const { links, meta } = envelope(ask, page, found.length);
    return documentReply(200, {
      data: pools.map((pool) => poolDocument(state, pool, 'list', flavor)),
      ...included(ask, state, pools, flavor),
      links,
      meta: { ...meta, 'status-counts': { total: state.pools.length, matching: found.length } },
    });
  };

  const create = (ask: Ask): Reply => {
    requireOrganization(ask, state);
    const { name = '', organizationScoped = true, allowed = [] } = poolWish(dataOf(ask.body), state, undefined, flavor);
    const id = random.id('apool-', 16);
    const pool: Pool = { id, name, createdAt: ask.now.getTime(), organizationScoped, attached: [], allowed };
    state.pools.push(pool);
    return single(201, pool, 'create');
  };

  const update = (ask: Ask): Reply => {
    const pool = poolOf(ask, state);
    Object.assign(pool, poolWish(dataOf(ask.body), state, pool, flavor));
    return single(200, pool, 'update');
  };

  const remove = (ask: Ask): Reply => {
    const pool = poolOf(ask, state);
    if (pool.attached.length > 0) throw new Refusal(422, 'Agent pool is in use by workspaces', { pointer: '/data' });
    state.pools.splice(state.pools.indexOf(pool), 1);
    state.agents.splice(0, state.agents.length, ...state.agents.filter(({ poolId }) => poolId !== pool.id));
    return { status: 204 };
  };

  const show = (ask: Ask): Reply => {
    const pool = poolOf(ask, state);
    return single(200, pool, 'show', included(ask, state, [pool], flavor));
  };

  return [
    { method: 'GET', path: '/organizations/:organization/agent-pools', answer: answering(list) },
    { method: 'POST', path: '/organizations/:organization/agent-pools', writes: true, answer: answering(create) },
    { method: 'GET', path: '/agent-pools/:id', answer: answering(show) },
    { method: 'PATCH', path: '/agent-pools/:id', writes: true, answer: answering(update) },
    { method: 'DELETE', path: '/agent-pools/:id', writes: true, answer: answering(remove) },
  ];
}
