import { createRandom } from '../random.ts';
import type { Flavor } from '../types.ts';
import type { PlatformContext } from './context.ts';
import { type Release, sourceAddress, type Workspace } from './workspaces.ts';

export type ViewFieldType = 'boolean' | 'number' | 'string' | 'datetime';
/** Datetimes are milliseconds since 1970. */
export type FieldValue = boolean | number | string | null;

export interface ExplorerField<Row> {
  readonly name: string;
  readonly type: ViewFieldType;
  /** Can be filtered by, but is not a column: `registry_type` of modules. */
  readonly hidden?: boolean;
  value(row: Row): FieldValue;
}

/** One view of the explorer. Methods, so that a view of one type of row fits where any view is accepted. */
export interface ViewDefinition<Row> {
  readonly rowType: string;
  readonly fields: readonly ExplorerField<Row>[];
  rows(): readonly Row[];
  rowId(row: Row): string;
}

export type ViewRow = Workspace | Usage | Resource;
export type ExplorerViews = ReadonlyMap<string, ViewDefinition<ViewRow>>;

/** What the views show. */
type Source = Pick<PlatformContext, 'organization' | 'workspaces'>;

/** A row of `tf_versions`, `providers` and `modules`: a product in one version, and the workspaces that use it. */
interface Usage {
  readonly id: string;
  readonly name: string;
  readonly source: string;
  readonly version: string;
  readonly registry: 'public' | 'private';
  readonly workspaceNames: string[];
}

/** A row of `resources`, a view of HCP Terraform that the specification does not have. */
type Resource = ReturnType<typeof listResources>[number];

type Columns<Row> = readonly (readonly [name: string, type: ViewFieldType, value: (row: Row) => FieldValue])[];

function toFields<Row>(columns: Columns<Row>): ExplorerField<Row>[] {
  return columns.map(([name, type, value]) => ({ name, type, value }));
}

/** docs/services/platform.md#explorer-views, in its order. */
const workspaceColumns = (organization: string): Columns<Workspace> => [
  ['all_checks_succeeded', 'boolean', (w) => w.checksFailed + w.checksErrored + w.checksUnknown === 0],
  ['current_rum_count', 'number', (w) => w.rumCount],
  ['checks_errored', 'number', (w) => w.checksErrored],
  ['checks_failed', 'number', (w) => w.checksFailed],
  ['checks_passed', 'number', (w) => w.checksPassed],
  ['checks_unknown', 'number', (w) => w.checksUnknown],
  ['current_run_applied_at', 'datetime', (w) => w.appliedAt],
  ['current_run_external_id', 'string', (w) => w.runId],
  ['current_run_status', 'string', (w) => w.runStatus],
  ['drifted', 'boolean', (w) => w.drifted],
  ['external_id', 'string', (w) => w.id],
  ['module_count', 'number', (w) => w.stack.modules.length],
  ['modules', 'string', (w) => w.stack.modulesText],
  ['organization_name', 'string', () => organization],
  ['project_external_id', 'string', (w) => w.project.id],
  ['project_name', 'string', (w) => w.project.name],
  ['provider_count', 'number', (w) => w.stack.providers.length],
  ['providers', 'string', (w) => w.stack.providersText],
  ['resources_drifted', 'number', (w) => w.resourcesDrifted],
  ['resources_undrifted', 'number', (w) => w.resourcesUndrifted],
  ['state_version_iac_version', 'string', (w) => w.stateVersion],
  ['vcs_repo_identifier', 'string', (w) => w.repository],
  ['workspace_created_at', 'datetime', (w) => w.createdAt],
  ['workspace_name', 'string', (w) => w.name],
  ['workspace_iac_version', 'string', (w) => w.toolVersion],
  ['workspace_updated_at', 'datetime', (w) => w.updatedAt],
];

const USAGE_COLUMNS: Columns<Usage> = [
  ['version', 'string', (row) => row.version],
  ['workspace_count', 'number', (row) => row.workspaceNames.length],
  ['workspaces', 'string', (row) => row.workspaceNames.join(', ')],
];

const PRODUCT_COLUMNS: Columns<Usage> = [
  ['name', 'string', (row) => row.name],
  ['source', 'string', (row) => row.source],
  ...USAGE_COLUMNS,
];

const REGISTRY_FILTER: ExplorerField<Usage> = {
  name: 'registry_type',
  type: 'string',
  hidden: true,
  value: (row) => row.registry,
};

/** The columns that HCP Terraform has beyond the specification: docs/services/platform.md#explorer-views. */
const LIVE_WORKSPACE_COLUMNS: Columns<Workspace> = [
  ['resource_count', 'number', (w) => w.rumCount],
  ['source_module_id', 'string', (w) => (w.stack.modules.length > 2 ? `mod-${w.id.slice(3)}` : null)],
  ['tags', 'string', (w) => (w.repository === null ? null : `owner:${w.repository.slice(5)}, managed`)],
];

const LIVE_TOOL_COLUMNS: Columns<Usage> = [['unique_identifier', 'string', (row) => row.id]];

const LIVE_PRODUCT_COLUMNS: Columns<Usage> = [
  ['registry_type', 'string', (row) => row.registry],
  ['curated', 'boolean', (row) => row.registry === 'public'],
];

const RESOURCE_COLUMNS: Columns<Resource> = [
  ['name', 'string', (row) => row.name],
  ['address', 'string', (row) => `${resourceType(row)}.${row.name}`],
  ['provider_type', 'string', resourceType],
  ['provider_name', 'string', (row) => row.release.product.name],
  ['module_name', 'string', () => 'root'],
  ['terraform_version', 'string', (row) => row.workspace.stateVersion],
  ['billable_rum', 'boolean', (row) => row.release.product.name !== 'null'],
  ['source_type', 'string', () => 'workspace'],
  ['source_id', 'string', (row) => row.workspace.id],
  ['source_updated_at', 'datetime', (row) => row.workspace.updatedAt],
  ['workspace_name', 'string', (row) => row.workspace.name],
  ['workspace_external_id', 'string', (row) => row.workspace.id],
  ['project_name', 'string', (row) => row.workspace.project.name],
  ['project_external_id', 'string', (row) => row.workspace.project.id],
  ['organization_external_id', 'string', () => 'org-1'],
];

/** The views over the live state. Row types are HCP Terraform's; the specification gives only the first. */
export function createExplorerViews(source: Source, flavor: Flavor): ExplorerViews {
  const { workspaces } = source;
  const isLive = flavor === 'hashicorp';
  const usage = (
    type: string,
    prefix: string,
    fields: readonly ExplorerField<Usage>[],
    used: ListVersions,
  ): ViewDefinition<Usage> => ({
    rowType: `visibility-${type}-version`,
    fields,
    rows: () => groupUsage(prefix, workspaces, used),
    rowId: ({ id }) => id,
  });
  const toolFields = toFields([...USAGE_COLUMNS, ...(isLive ? LIVE_TOOL_COLUMNS : [])]);
  const productFields = toFields([...PRODUCT_COLUMNS, ...(isLive ? LIVE_PRODUCT_COLUMNS : [])]);
  const moduleFields = isLive ? productFields : [...productFields, REGISTRY_FILTER];
  const views: (readonly [name: string, view: ViewDefinition<ViewRow>])[] = [
    ['workspaces', workspaceView(source, isLive)],
    ['tf_versions', usage('tf', 'tfv-', toolFields, toolVersions)],
    ['providers', usage('provider', 'prov-', productFields, ({ stack }) => productVersions(stack.providers))],
    ['modules', usage('module', 'mod-', moduleFields, ({ stack }) => productVersions(stack.modules))],
  ];
  return new Map(isLive ? [...views, ['resources', resourceView(workspaces)]] : views);
}

function workspaceView({ organization, workspaces }: Source, isLive: boolean): ViewDefinition<Workspace> {
  const columns = workspaceColumns(organization);
  const liveColumns = columns.map(
    ([name, type, value]) => [name.replace(/_iac_version$/, '_terraform_version'), type, value] as const,
  );
  return {
    rowType: 'visibility-workspace',
    fields: toFields(isLive ? [...liveColumns, ...LIVE_WORKSPACE_COLUMNS] : columns),
    rows: () => workspaces,
    rowId: ({ id }) => id,
  };
}

/** A sample: the first resource of each provider, in workspaces up to this many. */
const MAX_RESOURCE_WORKSPACES = 500;

function resourceView(workspaces: readonly Workspace[]): ViewDefinition<Resource> {
  return {
    rowType: 'visibility-resource',
    fields: toFields(RESOURCE_COLUMNS),
    rows: () => workspaces.slice(0, MAX_RESOURCE_WORKSPACES).flatMap(listResources),
    rowId: ({ id }) => id,
  };
}

function listResources(workspace: Workspace) {
  const { id, stack } = workspace;
  return stack.providers.map((release, index) => ({ id: `${id}-${index}`, name: `main${index}`, release, workspace }));
}

function resourceType({ release }: Resource): string {
  return `${release.product.name}_instance`;
}

type ProductVersion = Omit<Usage, 'id' | 'workspaceNames'>;
type ListVersions = (workspace: Workspace) => readonly ProductVersion[];

const TOOL = { name: 'terraform', source: '', registry: 'public' } as const;

const toolVersions: ListVersions = ({ toolVersion }) =>
  toolVersion === null ? [] : [{ ...TOOL, version: toolVersion }];

/** Groups workspaces by the product versions they use. Ids depend on these alone, so they are stable from day to day. */
function groupUsage(idPrefix: string, workspaces: readonly Workspace[], used: ListVersions): Usage[] {
  const rows = new Map<string, Usage>();
  for (const workspace of workspaces) {
    for (const { name, source, version, registry } of used(workspace)) {
      const key = `${source}\n${name}\n${version}`;
      const createId = () => createRandom(`${idPrefix}${key}`).id(idPrefix, 16);
      const row = rows.get(key) ?? { id: createId(), name, source, version, registry, workspaceNames: [] };
      rows.set(key, row);
      row.workspaceNames.push(workspace.name);
    }
  }
  return [...rows.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

/** Stacks are shared by many workspaces: the product versions of each are computed once. */
const versionsByReleases = new WeakMap<readonly Release[], readonly ProductVersion[]>();

function productVersions(releases: readonly Release[]): readonly ProductVersion[] {
  const toVersion = ({ product, version }: Release) => ({ ...product, source: sourceAddress(product), version });
  const versions = versionsByReleases.get(releases) ?? releases.map(toVersion);
  versionsByReleases.set(releases, versions);
  return versions;
}
