import { TidemarkError } from '../../../core/errors.ts';
import { isObject } from '../../../core/is-object.ts';
import { EXPLORER_FIELDS } from '../../../services/platform/explorer.ts';
import { platform } from '../../../services/platform/operations.ts';
import { toFields } from '../../../services/token/describe-token.ts';
import { PAGE_SIZE, type SnapshotPage, sendPages } from '../shared/snapshot-pages.ts';
import type { ExtractContext } from '../source.ts';
import { createRowFormatter } from './csv-export.ts';

/** docs/services/platform.md#list-of-workspaces: what a service without the explorer tells of its workspaces. */

type Fields = Readonly<Record<string, unknown>>;

/** A workspace of the list, with the resources that the service included; an empty object for those that it did not. */
interface Listed {
  readonly id: unknown;
  readonly attributes: Fields;
  readonly relationships: Fields;
  readonly included: ReadonlyMap<string, Fields>;
}

/** Columns of `workspaces`: what a workspace says of it, null if it says that there is none, undefined if it does not say. */
const COLUMNS: Readonly<Record<string, (workspace: Listed) => unknown>> = {
  external_id: ({ id }) => id,
  workspace_name: ({ attributes }) => attributes.name,
  workspace_created_at: ({ attributes }) => attributes['created-at'],
  workspace_updated_at: ({ attributes }) => attributes['updated-at'],
  workspace_iac_version: ({ attributes }) => attributes['terraform-version'],
  vcs_repo_identifier: ({ attributes }) => {
    const { 'vcs-repo': repository, 'vcs-repo-identifier': identifier } = attributes;
    return isObject(repository) ? repository.identifier : repository === undefined ? identifier : (identifier ?? null);
  },
  project_external_id: (workspace) => related(workspace, 'project', ({ id }) => id),
  project_name: (workspace) => included(workspace, 'project', ({ name }) => name),
  current_run_external_id: (workspace) => related(workspace, 'current-run', ({ id }) => id),
  current_run_status: (workspace) => included(workspace, 'current-run', ({ status }) => status),
  current_run_applied_at: (workspace) =>
    included(workspace, 'current-run', ({ 'status-timestamps': times }) =>
      isObject(times) ? (times['applied-at'] ?? null) : undefined,
    ),
  tags: ({ attributes }) => {
    const names = attributes['tag-names'];
    return Array.isArray(names) && names.length > 0 ? names.join(', ') : undefined;
  },
};

/** Reads a to-one relationship: null if the workspace has none of it, undefined if the service does not say. */
function related({ relationships }: Listed, name: string, read: (data: Fields) => unknown): unknown {
  const relationship = relationships[name];
  const data = isObject(relationship) ? relationship.data : undefined;
  return isObject(data) ? read(data) : data;
}

/** The workspace has it, and the service did not include it. */
const LEFT_OUT = Symbol('left out');

/** Reads the attributes of the resource of a to-one relationship. */
function included(workspace: Listed, name: string, read: (attributes: Fields) => unknown): unknown {
  return related(workspace, name, ({ type, id }) => {
    const attributes = workspace.included.get(`${String(type)} ${String(id)}`);
    return attributes ? read(attributes) : LEFT_OUT;
  });
}

/** Lands the rows of a view that the list of workspaces tells, and which of its columns it does not tell. */
export async function landWorkspaceList(
  context: ExtractContext,
  view: 'workspaces' | 'tf_versions',
  include: readonly string[],
): Promise<void> {
  const { landing, client } = context;
  const start = await landing.checkpoint();
  const { columns, format } = createRowFormatter(view);
  const land = (rows: readonly Fields[]) =>
    landing.writeCsv(columns, format(rows.map((attributes) => ({ attributes }))));
  let told = new ToldColumns();
  let versions = new Map<string, string[]>();
  const write = async (page: SnapshotPage) => {
    const { organization, flavor } = client.target;
    const rows = readRows(page).map(({ tags, ...row }) => ({
      ...row,
      organization_name: organization,
      ...(flavor === 'hashicorp' && { tags }), // as with the explorer
    }));
    told.observe(rows);
    if (view === 'workspaces') return land(rows.map(withoutLeftOut));
    for (const row of rows) addVersion(versions, row);
  };
  const reset = () => {
    told = new ToldColumns();
    versions = new Map();
    return landing.rollback(start);
  };
  const args = {
    'page[size]': PAGE_SIZE,
    ...(include.length > 0 && view === 'workspaces' && { include: include.join() }),
  };
  const total = await sendPages(context, platform.workspaces.list, args, { write, reset });
  told.assertWhole();
  if (view === 'workspaces' && total !== undefined) landing.expectRows(total);
  if (view === 'tf_versions') await land([...versions].map(toVersionRow));
  for (const [column, reason] of told.listUnknown(view)) {
    landing.addUnknown({ column, value: null, reason, isColumn: true, isUnsupported: true });
  }
}

function readRows({ items, included }: SnapshotPage): readonly Fields[] {
  const resources = new Map(
    included
      .filter(isObject)
      .map(({ type, id, attributes }) => [`${String(type)} ${String(id)}`, toFields(attributes)]),
  );
  return items.filter(isObject).map(({ id, attributes, relationships }) => {
    const listed = {
      id,
      attributes: toFields(attributes),
      relationships: toFields(relationships),
      included: resources,
    };
    return Object.fromEntries(Object.entries(COLUMNS).map(([column, read]) => [column, read(listed)]));
  });
}

function withoutLeftOut(row: Fields): Fields {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== LEFT_OUT));
}

function addVersion(versions: Map<string, string[]>, { workspace_iac_version: version, workspace_name: name }: Fields) {
  if (typeof version !== 'string' || version === '') return;
  const names = versions.get(version) ?? [];
  versions.set(version, names);
  names.push(String(name));
}

function toVersionRow([version, names]: readonly [string, readonly string[]]): Fields {
  return { version, workspace_count: names.length, workspaces: names.join(', ') };
}

/** Which columns the workspaces of a list tell: a column that some do not tell, and none has a value of, is unknown. */
class ToldColumns {
  readonly #seen = new Map<string, Set<'told' | 'untold' | 'left out'>>();

  observe(rows: readonly Fields[]): void {
    for (const [column, value] of rows.flatMap(Object.entries)) {
      if (value === null) continue;
      const seen = this.#seen.get(column) ?? new Set();
      this.#seen.set(column, seen.add(value === LEFT_OUT ? 'left out' : value === undefined ? 'untold' : 'told'));
    }
  }

  /** @throws TidemarkError DATA where the service included what some workspaces have, and not what others have: nulls would look like none */
  assertWhole(): void {
    const [cut] = [...this.#seen].find(([, seen]) => seen.has('left out') && seen.has('told')) ?? [];
    if (cut)
      throw new TidemarkError('DATA', `the list of workspaces tells the ${cut} of some and leaves out that of others`);
  }

  /** The unknown columns of a view, with the reason. */
  listUnknown(view: 'workspaces' | 'tf_versions'): readonly (readonly [column: string, reason: string])[] {
    const isUntold = (column: string) => this.#seen.get(column)?.has('told') === false;
    if (view === 'tf_versions') return isUntold('workspace_iac_version') ? [untold('version'), EXTRA] : [EXTRA];
    const columns = Object.keys(EXPLORER_FIELDS.workspaces).filter((column) => column !== 'organization_name');
    const unknown = columns.filter((column) => !(column in COLUMNS) || isUntold(column));
    return [EXTRA, ...unknown.map((column) => (column in COLUMNS ? untold(column) : ([column, NOT_LISTED] as const)))];
  }
}

const untold = (column: string) => [column, `no workspace of the list tells its ${column}`] as const;
const NOT_LISTED = 'only the explorer tells it, which the service does not have (explorer: workspaces)';
const EXTRA = ['extra', NOT_LISTED] as const;
