/** The explorer views with their fields and operators: docs/services/platform.md#explorer-views. */

export type FieldType = 'boolean' | 'number' | 'string' | 'datetime';
export type ExplorerView = 'workspaces' | 'tf_versions' | 'providers' | 'modules';

export const VIEWS: readonly ExplorerView[] = ['workspaces', 'tf_versions', 'providers', 'modules'];
/** `resources` is a beta view of the real product. Its fields are not checked. */
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

/** The field types that an operator applies to: docs/services/platform.md#explorer-filters. */
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

/** Fields with another name in the real product: docs/services/platform.md#real-product. */
const HASHICORP_NAMES: Readonly<Record<string, string>> = {
  workspace_iac_version: 'workspace_terraform_version',
  state_version_iac_version: 'state_version_terraform_version',
};
const CANONICAL_NAMES = Object.fromEntries(
  Object.entries(HASHICORP_NAMES).map(([canonical, hashicorp]) => [hashicorp, canonical]),
);

export function toHashicorpField(name: string): string {
  return HASHICORP_NAMES[name] ?? name;
}

/** The field name of the API documents, from any spelling of a service: with hyphens, or `*_terraform_version`. */
export function canonicalField(name: string): string {
  const snake = name.replaceAll('-', '_');
  return CANONICAL_NAMES[snake] ?? snake;
}

/** The operator of the API documents; the real product spells one `does_not_contain`. */
export function canonicalOperator(name: string): string {
  return name === 'does_not_contain' ? 'does not contain' : name;
}

export function toHashicorpOperator(name: string): string {
  return name.replaceAll(' ', '_');
}
