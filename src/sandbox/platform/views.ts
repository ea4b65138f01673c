import { createRandom } from '../prng.ts';
import type { Ask, Flavor, Reply, Route } from '../types.ts';
import { type Explorer, requireOrganization } from './explorer.ts';
import type { Views } from './fields.ts';
import { answering, dataOf, documentReply, notFound, Refusal } from './json-api.ts';
import { envelope, itemsOn, pageOf } from './paging.ts';
import { runQuery, savedQueryOf } from './query.ts';
import type { PlatformState, SavedView } from './state.ts';
import { viewDocument, viewWish } from './view-forms.ts';

const BASE = '/organizations/:organization/explorer/views';

/** Saved views: list, show, create, update, delete, and running them again as JSON and as CSV. */
export function viewRoutes(
  state: PlatformState,
  views: Views,
  explorer: Explorer,
  seed: number,
  flavor: Flavor,
): Route[] {
  const random = createRandom(`${seed}/platform/new-views`);
  const live = flavor === 'hashicorp';
  const viewOf = (ask: Ask): SavedView => {
    const view = state.views.find(({ id }) => id === ask.params.id);
    if (!view) throw notFound();
    return view;
  };
  const single = (status: number, view: SavedView): Reply =>
    documentReply(status, { data: viewDocument(view, flavor) });

  /** HCP Terraform's sample list has only `data` (live-services.md A2); the documents promise the envelope. */
  const list = (ask: Ask): Reply => {
    if (live) return documentReply(200, { data: state.views.map((view) => viewDocument(view, flavor)) });
    const page = pageOf(ask);
    const data = itemsOn(state.views, page).map((view) => viewDocument(view, flavor));
    return documentReply(200, { data, ...envelope(ask, page, state.views.length) });
  };

  const create = (ask: Ask): Reply => {
    const { name, queryType, query } = viewWish(dataOf(ask.body), 'create', flavor);
    if (queryType === undefined || !views.has(queryType)) {
      throw new Refusal(422, `query_type must be one of ${[...views.keys()].join(', ')}`, {
        pointer: '/data/query_type',
      });
    }
    const view: SavedView = { id: random.id('sq-', 16), name, createdAt: ask.now.getTime(), queryType, query };
    runQuery(views, savedQueryOf(view), flavor);
    state.views.push(view);
    return single(201, view);
  };

  /** The whole query is replaced: what the body leaves out is lost. */
  const update = (ask: Ask): Reply => {
    const view = viewOf(ask);
    const { name, query } = viewWish(dataOf(ask.body), 'update', flavor);
    runQuery(views, savedQueryOf({ ...view, query }), flavor);
    Object.assign(view, { name, query });
    return single(200, view);
  };

  const remove = (ask: Ask): Reply => {
    const view = viewOf(ask);
    state.views.splice(state.views.indexOf(view), 1);
    return live ? { status: 204 } : single(200, view);
  };

  const csv = (ask: Ask): Reply => explorer.csv(savedQueryOf(viewOf(ask)), live ? 'null' : '""', ['current_rum_count']);

  const route = (method: string, path: string, answer: (ask: Ask) => Reply): Route => ({
    method,
    path: `${BASE}${path}`,
    writes: method !== 'GET',
    answer: answering((ask) => {
      requireOrganization(ask, state);
      return answer(ask);
    }),
  });
  return [
    route('GET', '', list),
    route('POST', '', create),
    route('GET', '/:id', (ask) => single(200, viewOf(ask))),
    route('PATCH', '/:id', update),
    route('DELETE', '/:id', remove),
    route('GET', '/:id/results', (ask) => explorer.page(ask, savedQueryOf(viewOf(ask)))),
    // Clients of the real service were moved from the documents' path to this one (live-services.md A5).
    route('GET', live ? '/:id/export/csv' : '/:id/csv', csv),
  ];
}
