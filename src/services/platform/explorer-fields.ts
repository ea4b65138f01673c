/** The explorer's views and their fields (platform.md, "Explorer row"), which filters, sort and fields are checked against. */

export type FieldType = 'boolean' | 'number' | 'string' | 'datetime';
export type ExplorerView = 'workspaces' | 'tf_versions' | 'providers' | 'modules';

export const VIEWS: readonly ExplorerView[] = ['workspaces', 'tf_versions', 'providers', 'modules'];
/** Beta in the real product (live-services.md A4): known there, its fields are not checked. */
export const HASHICORP_VIEWS: readonly string[] = [...VIEWS, 'resources'];

export const EXPLORER_FIELDS: Readonly<Record<ExplorerView, Readonly<Record<string, FieldType>>>> = {
  workspaces: {
    all_checks_succeeded: 'boolean',
    current_rum_count: 'number',
    checks_errored: 'number',
    checks_failed: 'number',
    checks_passed: 'number',
    checks_unknown: 'number',
    current_run_applied_at: 'datetime',
    current_run_external_id: 'string',
    current_run_status: 'string',
    drifted: 'boolean',
    external_id: 'string',
    module_count: 'number',
    modules: 'string',
    organization_name: 'string',
    project_external_id: 'string',
    project_name: 'string',
    provider_count: 'number',
    providers: 'string',
    resources_drifted: 'number',
    resources_undrifted: 'number',
    state_version_iac_version: 'string',
    vcs_repo_identifier: 'string',
    workspace_created_at: 'datetime',
    workspace_name: 'string',
    workspace_iac_version: 'string',
    workspace_updated_at: 'datetime',
  },
  tf_versions: { version: 'string', workspace_count: 'number', workspaces: 'string' },
  providers: { name: 'string', source: 'string', version: 'string', workspace_count: 'number', workspaces: 'string' },
  modules: {
    name: 'string',
    source: 'string',
    version: 'string',
    workspace_count: 'number',
    workspaces: 'string',
    registry_type: 'string',
  },
};

/** Which types of field an operator takes (platform.md, "Filter syntax"). */
export const OPERATORS: Readonly<Record<string, readonly FieldType[]>> = {
  is: ['boolean', 'number', 'string'],
  is_not: ['number', 'string'],
  contains: ['string'],
  'does not contain': ['string'],
  is_empty: ['boolean', 'number', 'string'],
  is_not_empty: ['boolean', 'number', 'string'],
  gt: ['number'],
  lt: ['number'],
  gteq: ['number'],
  lteq: ['number'],
  is_before: ['datetime'],
  is_after: ['datetime'],
};

/** Names of the documents and of the real product for the same column (live-services.md, section 0). */
const HASHICORP_NAMES: Readonly<Record<string, string>> = {
  workspace_iac_version: 'workspace_terraform_version',
  state_version_iac_version: 'state_version_terraform_version',
};
const DOCUMENT_NAMES = Object.fromEntries(Object.entries(HASHICORP_NAMES).map(([ours, theirs]) => [theirs, ours]));

export function toHashicorpField(name: string): string {
  return HASHICORP_NAMES[name] ?? name;
}

/** The document's name of a field, whichever form a service used: hyphens, `*_terraform_version`. */
export function canonicalField(name: string): string {
  const snake = name.replaceAll('-', '_');
  return DOCUMENT_NAMES[snake] ?? snake;
}

/** The document's name of an operator: the real product writes `does_not_contain` (live-services.md A4). */
export function canonicalOperator(name: string): string {
  return name === 'does_not_contain' ? 'does not contain' : name;
}

export function toHashicorpOperator(name: string): string {
  return name.replaceAll(' ', '_');
}
