import type { Flavor } from '../types.ts';
import { RESOURCE_COLUMNS, type Resource, resourceRows } from './resources.ts';
import type { PlatformState, Workspace } from './state.ts';
import { moduleUsage, providerUsage, toolUsage, type Usage } from './usage.ts';

export type FieldType = 'boolean' | 'number' | 'string' | 'datetime';
/** Datetimes are milliseconds since 1970. */
export type Value = boolean | number | string | null;

export interface Field<Row> {
  readonly name: string;
  readonly type: FieldType;
  /** Can be filtered by, but is no column (platform.md: `registry_type` of modules). */
  readonly hidden?: boolean;
  of(row: Row): Value;
}

/** One view of the explorer. Methods, so that a view of one kind of row fits where any view is taken. */
export interface View<Row> {
  readonly rowType: string;
  readonly fields: readonly Field<Row>[];
  rows(): readonly Row[];
  idOf(row: Row): string;
}

export type Row = Workspace | Usage | Resource;
export type Views = ReadonlyMap<string, View<Row>>;

export type Columns<R> = readonly (readonly [name: string, type: FieldType, of: (row: R) => Value])[];

const fieldsOf = <R>(columns: Columns<R>): Field<R>[] => columns.map(([name, type, of]) => ({ name, type, of }));

const countOf = (text: string | null): number => (text === null ? 0 : text.split(', ').length);

/** The fields of platform.md, in its order. */
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

const USERS: Columns<Usage> = [
  ['workspace_count', 'number', (row) => row.workspaceNames.length],
  ['workspaces', 'string', (row) => row.workspaceNames.join(', ')],
];

const VERSION: Columns<Usage> = [['version', 'string', (row) => row.version]];

const PRODUCT: Columns<Usage> = [
  ['name', 'string', (row) => row.name],
  ['source', 'string', (row) => row.source],
  ...VERSION,
  ...USERS,
];

/** What HCP Terraform has beyond the documents (live-services.md A4). */
const LIVE_WORKSPACE: Columns<Workspace> = [
  ['resource_count', 'number', (w) => w.rumCount],
  ['source_module_id', 'string', (w) => (countOf(w.stack.modulesText) > 2 ? `mod-${w.id.slice(3)}` : null)],
  ['tags', 'string', (w) => (w.repository === null ? null : `owner:${w.repository.slice(5)}, managed`)],
];
const LIVE_TOOL: Columns<Usage> = [['unique_identifier', 'string', (row) => row.id]];
const LIVE_PRODUCT: Columns<Usage> = [
  ['registry_type', 'string', (row) => row.registry],
  ['curated', 'boolean', (row) => row.registry === 'public'],
];

const REGISTRY_FILTER: Field<Usage> = {
  name: 'registry_type',
  type: 'string',
  hidden: true,
  of: (row) => row.registry,
};

const liveName = (name: string): string => name.replace(/_iac_version$/, '_terraform_version');

/** The views of the explorer over the live state. Row types are HCP Terraform's; the documents give only the first. */
export function createViewsOf(state: PlatformState, flavor: Flavor): Views {
  const live = flavor === 'hashicorp';
  const workspaces = fieldsOf(workspaceColumns(state.organization)).map((field) =>
    live ? { ...field, name: liveName(field.name) } : field,
  );
  const usage = (
    rowType: string,
    columns: Columns<Usage>,
    liveColumns: Columns<Usage>,
    rows: () => Usage[],
  ): View<Usage> => ({
    rowType,
    fields: [
      ...fieldsOf(columns),
      ...(live ? fieldsOf(liveColumns) : rowType.includes('module') ? [REGISTRY_FILTER] : []),
    ],
    rows,
    idOf: ({ id }) => id,
  });
  const workspaceView: View<Workspace> = {
    rowType: 'visibility-workspace',
    fields: live ? [...workspaces, ...fieldsOf(LIVE_WORKSPACE)] : workspaces,
    rows: () => state.workspaces,
    idOf: ({ id }) => id,
  };
  const resources: View<Resource> = {
    rowType: 'visibility-resource',
    fields: fieldsOf(RESOURCE_COLUMNS),
    rows: () => resourceRows(state),
    idOf: ({ id }) => id,
  };
  return new Map<string, View<Row>>([
    ['workspaces', workspaceView],
    ['tf_versions', usage('visibility-tf-version', [...VERSION, ...USERS], LIVE_TOOL, () => toolUsage(state))],
    ['providers', usage('visibility-provider-version', PRODUCT, LIVE_PRODUCT, () => providerUsage(state))],
    ['modules', usage('visibility-module-version', PRODUCT, LIVE_PRODUCT, () => moduleUsage(state))],
    ...(live ? [['resources', resources] as const] : []),
  ]);
}
