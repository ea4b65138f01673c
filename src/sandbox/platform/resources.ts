import type { Columns } from './fields.ts';
import type { PlatformState, Release, Workspace } from './state.ts';

/** A row of HCP Terraform's view `resources` (live-services.md A4); the documents do not have it. */
export interface Resource {
  readonly id: string;
  readonly name: string;
  readonly release: Release;
  readonly workspace: Workspace;
}

/** The view is a sample: the first resource of each provider, in workspaces up to this many. */
const MAX_WORKSPACES = 500;

export const resourceRows = ({ workspaces }: PlatformState): Resource[] =>
  workspaces.slice(0, MAX_WORKSPACES).flatMap((workspace) =>
    workspace.stack.providers.map((release, index) => ({
      id: `${workspace.id}-${index}`,
      name: `main${index}`,
      release,
      workspace,
    })),
  );

const kindOf = ({ release }: Resource): string => `${release.product.name}_instance`;

export const RESOURCE_COLUMNS: Columns<Resource> = [
  ['name', 'string', (row) => row.name],
  ['address', 'string', (row) => `${kindOf(row)}.${row.name}`],
  ['provider_type', 'string', kindOf],
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
