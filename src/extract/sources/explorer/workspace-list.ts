import { TidemarkError } from '../../../core/errors.ts';
import { isObject, listAt, valueAt } from '../../../core/json-path.ts';
import { isRejection, ServiceError } from '../../../http/errors.ts';
import { EXPLORER_FIELDS } from '../../../services/platform/explorer.ts';
import { platform } from '../../../services/platform/operations.ts';
import { PAGE_SIZE, type SnapshotPage, sendPages } from '../shared/snapshot-pages.ts';
import type { ExtractContext } from '../source.ts';
import { createRowFormatter, landUntold } from './csv-export.ts';

/** docs/services/platform.md#list-of-workspaces: what a service without the explorer tells of its workspaces. */

type Fields = Readonly<Record<string, unknown>>;

/** Attributes of the resources that the service included, by type and ID. */
type Included = ReadonlyMap<string, unknown>;

const attribute = (name: string) => (item: unknown) => valueAt(item, 'attributes', name);

/** Columns of `workspaces`: what a workspace says of it, null if it says that there is none, undefined if it does not say. */
const COLUMNS: Readonly<Record<string, (item: unknown, included: Included) => unknown>> = {
  external_id: (item) => valueAt(item, 'id'),
  workspace_name: attribute('name'),
  workspace_created_at: attribute('created-at'),
  workspace_updated_at: attribute('updated-at'),
  workspace_iac_version: attribute('terraform-version'),
  vcs_repo_identifier: (item) => {
    const [repository, identifier] = [attribute('vcs-repo')(item), attribute('vcs-repo-identifier')(item)];
    return isObject(repository) ? repository.identifier : repository === undefined ? identifier : (identifier ?? null);
  },
  project_external_id: (item) => related(item, 'project', ({ id }) => id),
  project_name: included('project', (project) => valueAt(project, 'name')),
  current_run_external_id: (item) => related(item, 'current-run', ({ id }) => id),
  current_run_status: included('current-run', (run) => valueAt(run, 'status')),
  current_run_applied_at: included('current-run', (run) => {
    const times = valueAt(run, 'status-timestamps');
    return isObject(times) ? (times['applied-at'] ?? null) : undefined;
  }),
  tags: (item) => {
    const names = listAt(item, 'attributes', 'tag-names');
    return names && (names.join(', ') || null);
  },
};

/** Reads a to-one relationship: null if the workspace has none of it, undefined if the service does not say. */
function related(item: unknown, name: string, read: (data: Fields) => unknown): unknown {
  const data = valueAt(item, 'relationships', name, 'data');
  return isObject(data) ? read(data) : data;
}

/** The workspace has it, and the service did not include it. */
const LEFT_OUT = Symbol('left out');

/** Reads the attributes of the resource of a to-one relationship. */
function included(name: string, read: (attributes: unknown) => unknown) {
  return (item: unknown, resources: Included): unknown =>
    related(item, name, (data) => {
      const key = resourceKey(data);
      return resources.has(key) ? read(resources.get(key)) : LEFT_OUT;
    });
}

const resourceKey = ({ type, id }: Fields) => `${String(type)} ${String(id)}`;

type ListedView = 'workspaces' | 'tf_versions';

/** Lands the rows of a view that the list of workspaces tells, and which of its columns it does not tell. */
export async function landWorkspaceList(context: ExtractContext, view: ListedView, include: readonly string[]) {
  const { landing, client } = context;
  const start = await landing.checkpoint();
  const { columns, format } = createRowFormatter(view);
  const land = (rows: readonly Fields[]) =>
    landing.writeCsv(columns, format(rows.map((attributes) => ({ attributes }))));
  const told: Told = new Map();
  const versions = new Map<string, string[]>();
  const write = async (page: SnapshotPage) => {
    const { organization, flavor } = client.target;
    const rows = readRows(page).map(({ tags, ...row }) => ({
      ...row,
      organization_name: organization,
      ...(flavor === 'hashicorp' && { tags }), // as with the explorer
    }));
    observe(told, rows);
    if (view === 'workspaces')
      return land(rows.map((row) => mapFields(row, (value) => (value === LEFT_OUT ? undefined : value))));
    for (const row of rows) addVersion(versions, row);
  };
  const reset = () => {
    told.clear();
    versions.clear();
    return landing.rollback(start);
  };
  const send = (names: readonly string[]) => {
    const args = { 'page[size]': PAGE_SIZE, ...(names.length > 0 && { include: names.join() }) };
    return sendPages(context, platform.workspaces.list, args, write, reset);
  };
  const names = view === 'workspaces' ? include : [];
  const total = await send(names).catch(async (error: unknown) => {
    // Terraform Enterprise before v202302 has no projects, and rejects what it does not know.
    if (!names.includes('project') || !(error instanceof ServiceError) || !isRejection(error)) throw error;
    await reset();
    return send(names.filter((name) => name !== 'project'));
  });
  assertWhole(told);
  if (view === 'workspaces' && total !== undefined) landing.expectRows(total);
  if (view === 'tf_versions') await land([...versions].map(toVersionRow));
  for (const [column, reason] of listUntoldColumns(told, view)) landUntold(context, [column], reason);
}

function readRows({ items, included: resources }: SnapshotPage): readonly Fields[] {
  const attributes = new Map(resources.filter(isObject).map((one) => [resourceKey(one), one.attributes]));
  return items.map((item) => mapFields(COLUMNS, (read) => read(item, attributes)));
}

const mapFields = <T>(fields: Readonly<Record<string, T>>, map: (value: T) => unknown): Fields =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, map(value)]));

function addVersion(versions: Map<string, string[]>, { workspace_iac_version: version, workspace_name: name }: Fields) {
  if (typeof version !== 'string' || version === '') return;
  const names = versions.get(version) ?? [];
  versions.set(version, names);
  names.push(String(name));
}

function toVersionRow([version, names]: readonly [string, readonly string[]]): Fields {
  return { version, workspace_count: names.length, workspaces: names.join(', ') };
}

/** What the workspaces of a list say of each column. */
type Told = Map<string, Set<'told' | 'untold' | 'left out'>>;

function observe(told: Told, rows: readonly Fields[]): void {
  for (const [column, value] of rows.flatMap(Object.entries)) {
    if (value === null) continue;
    const seen = told.get(column) ?? new Set();
    told.set(column, seen.add(value === LEFT_OUT ? 'left out' : value === undefined ? 'untold' : 'told'));
  }
}

/** @throws TidemarkError DATA where the service included what some workspaces have, and not what others have: nulls would look like none */
function assertWhole(told: Told): void {
  const [cut] = [...told].find(([, seen]) => seen.has('left out') && seen.has('told')) ?? [];
  if (cut)
    throw new TidemarkError('DATA', `the list of workspaces tells the ${cut} of some and leaves out that of others`);
}

/** The unknown columns of a view, with the reason: a column that some workspaces do not tell, and none has a value of, is unknown. */
function listUntoldColumns(told: Told, view: ListedView): readonly (readonly [string, string])[] {
  const isUntold = (column: string) => told.get(column)?.has('told') === false;
  if (view === 'tf_versions') return isUntold('workspace_iac_version') ? [untold('version'), EXTRA] : [EXTRA];
  const columns = Object.keys(EXPLORER_FIELDS.workspaces).filter((column) => column !== 'organization_name');
  const unknown = [...columns, 'tags'].filter((column) => !(column in COLUMNS) || isUntold(column));
  return [EXTRA, ...unknown.map((column) => (column in COLUMNS ? untold(column) : ([column, NOT_LISTED] as const)))];
}

const untold = (column: string) => [column, `no workspace of the list tells its ${column}`] as const;
const NOT_LISTED = 'only the explorer tells it, which the service does not have (explorer: workspaces)';
const EXTRA = ['extra', NOT_LISTED] as const;
