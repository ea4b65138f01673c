import { sliceFields } from '../../core/json.ts';
import { cleanJson } from '../../core/redact/secret-fields.ts';
import { catchFailure, type FailureKind, isRejection, ServiceError } from '../../http/errors.ts';
import { formatRow } from '../../landing/csv.ts';
import { withRequestOptions } from '../../services/client.ts';
import { platform } from '../../services/platform/operations.ts';
import { isOverload } from './explorer/partition.ts';
import { assertServiceAnswers, listThenRead, type Part } from './shared/list-and-read.ts';
import { extractPages, fetchPages, itemTexts, listKeys, PAGE_SIZE, sendPages } from './shared/snapshot-pages.ts';
import type { ExtractContext, SourceDefinition } from './source.ts';

/** Saved explorer queries of the organization. */
export const savedViews: SourceDefinition = {
  name: 'saved_views',
  kind: 'platform',
  needsExplorer: true,
  operations: [platform.views.list],
  async extract(context) {
    await extractPages(context, platform.views.list, {});
  },
  checkAccess: (client) => client.call(platform.views.list),
};

/**
 * The rows that every saved view returns. When the service rejects the query of a view, because a field no longer exists for
 * example, the error is written for that view. A view that cannot be read is unknown, and its rows stay. Every other failure fails the source,
 * and so does one of every one of several views.
 *
 * The rows are landed as CSV, because a view may return all of them in one response, for which DuckDB would need memory as a whole.
 */
export const savedViewRows: SourceDefinition = {
  name: 'saved_view_rows',
  kind: 'platform',
  needsExplorer: true,
  operations: [platform.views.list, platform.views.results],
  async extract(context) {
    const relist = async () => listKeys(await fetchPages(context, platform.views.list, {}));
    const items = await relist();
    const failures: ServiceError[] = [];
    const read = async ({ key }: { readonly key: string }) => {
      const rejection = await extractView(context, key);
      if (rejection) failures.push(rejection);
    };
    let overloads = 0;
    const isRefusal = (error: ServiceError) => {
      const isOfOneView = OF_ONE_VIEW.includes(error.failure) || (isOverload(error) && ++overloads <= MAX_OVERLOADS);
      if (isOfOneView) failures.push(error);
      return isOfOneView;
    };
    await listThenRead(context, { items, relist, read, toPart, isRefusal, describe: () => '' }); // its part names it
    assertServiceAnswers(items.length, failures);
  },
  checkAccess: (client) => client.call(platform.views.list),
};

const toPart = ({ key: value }: { readonly key: string }): Part => ({ column: 'view_id', value });

/** Failures of one view, such as one that changes at every reading. The rows of the others are known. */
const OF_ONE_VIEW: readonly FailureKind[] = ['forbidden', 'malformed', 'too-large'];

/** So many views may take longer than the service lets a query take. Where more do, the cause is the service. */
const MAX_OVERLOADS = 3;

/** The columns of the table that are landed. */
export const ROW_COLUMNS = ['view_id', 'position', 'row_id', 'row_type', 'attributes'];

/**
 * Pages go to the landing one by one: a view may have as many rows as the organization has workspaces. Where the view changes while it is
 * read, or is refused, the rows so far stay in the file: `queries/load/saved_view_rows_csv.sql` takes those after `skipped`.
 * @returns the rejection of its query
 */
async function extractView(context: ExtractContext, id: string): Promise<ServiceError | undefined> {
  const { landing } = context;
  let [skipped, position] = [0, 0];
  const write = async ({ text }: { readonly text: string }) => {
    const items = itemTexts(landing.mask(text)).map(cleanJson);
    const rows = formatRows(landing.mask(id), position, items);
    position += items.length;
    for (const row of rows) await landing.writeCsv(ROW_COLUMNS, formatRow(row));
  };
  const reset = () => {
    skipped = position;
  };
  const args = { view_id: id, 'page[size]': PAGE_SIZE };
  const rewriting = { ...context, client: withRequestOptions(context.client, { mayRepeatNames: true }) };
  const sent = sendPages(rewriting, platform.views.results, args, write, reset);
  const answer = await sent.catch(catchFailure(isRejection));
  const end = answer instanceof ServiceError ? { error: answer.serviceMessage } : { skipped, rows: position - skipped };
  await landing.writeJson({ view_id: id, ...end });
  return answer instanceof ServiceError ? answer : undefined;
}

/** The cells of the items of a page. @param before how many rows the view has before them */
export function* formatRows(viewId: string, before: number, items: readonly string[]): Generator<readonly string[]> {
  const names: Names = new Map();
  for (const [index, item] of items.entries()) {
    const fields = sliceFields(item);
    const attributes = formatAttributes(fields.get('attributes') ?? 'null', names);
    yield [viewId, String(before + index + 1), readText(fields.get('id')), readText(fields.get('type')), attributes];
  }
}

function readText(json = 'null'): string {
  const value: unknown = JSON.parse(json);
  return typeof value === 'string' ? value : '';
}

/** Names with underscores, by the names that were sent. The rows of a page have the same ones, and to translate each again takes most of the time. */
type Names = Map<string, { readonly snake: string; readonly start: string }>;

/** Names with underscores, and the values as they were sent. If a field has both spellings, the one with underscores is kept. */
function formatAttributes(json: string, names: Names): string {
  if (!json.startsWith('{')) return 'null';
  const fields = sliceFields(json);
  const renamed = new Map<string, string>();
  for (const [name, value] of fields) {
    const { snake, start } = names.get(name) ?? addName(name, names);
    if (snake === name || !fields.has(snake)) renamed.set(snake, start + value);
  }
  return `{${[...renamed.values()].join(',')}}`;
}

function addName(name: string, names: Names) {
  const snake = name.replaceAll('-', '_');
  const added = { snake, start: `${JSON.stringify(snake)}:` };
  names.set(name, added);
  return added;
}
