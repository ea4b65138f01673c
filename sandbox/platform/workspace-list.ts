import type { Request, Response, RouteTable } from '../types.ts';
import type { PlatformContext } from './context.ts';
import { formatTime, type JsonObject, listResponse, refuseUnknownParameters } from './json-api.ts';
import type { Workspace } from './workspaces.ts';

/** `GET /organizations/:organization/workspaces`, with `include=current_run,project`: docs/services/platform.md#list-of-workspaces. */
export const workspaceRoutes: RouteTable<PlatformContext> = {
  'GET /organizations/:organization/workspaces': listWorkspaces,
};

function listWorkspaces(request: Request, context: PlatformContext): Response {
  refuseUnknownParameters(request, ['include']);
  const names = (request.query.get('include') ?? '').split(',');
  const members = (rows: readonly Workspace[]) => {
    const included = names.flatMap((name) => include(name, rows));
    return included.length > 0 ? { included } : {};
  };
  return listResponse(request, context.workspaces, (workspace) => workspaceDocument(context, workspace), { members });
}

export function workspaceDocument(context: PlatformContext, workspace: Workspace): JsonObject {
  const { id, name, createdAt, updatedAt, toolVersion, repository, rumCount, project, runId } = workspace;
  return {
    id,
    type: 'workspaces',
    attributes: {
      name,
      'created-at': formatTime(createdAt),
      'updated-at': formatTime(updatedAt),
      'terraform-version': toolVersion,
      'execution-mode': 'agent',
      'resource-count': rumCount ?? 0,
      'tag-names': repository === null ? [] : [`owner:${repository.slice(5)}`, 'managed'],
      'vcs-repo': repository === null ? null : { identifier: repository, branch: '' },
      'vcs-repo-identifier': repository,
    },
    relationships: {
      organization: { data: { id: context.organization, type: 'organizations' } },
      project: { data: { id: project.id, type: 'projects' } },
      'current-run': { data: runId === null ? null : { id: runId, type: 'runs' } },
    },
    links: { self: `/api/v2/organizations/${context.organization}/workspaces/${encodeURIComponent(name)}` },
  };
}

/** The related resources of a page, each once. */
function include(name: string, rows: readonly Workspace[]): readonly JsonObject[] {
  const all = rows.flatMap((row) =>
    name === 'project' ? [projectDocument(row)] : name === 'current_run' ? runDocuments(row) : [],
  );
  return [...new Map(all.map((resource) => [resource.id, resource])).values()];
}

function projectDocument({ project: { id, name } }: Workspace): JsonObject {
  return { id, type: 'projects', attributes: { name } };
}

function runDocuments({ runId, runStatus, appliedAt }: Workspace): readonly JsonObject[] {
  if (runId === null) return [];
  const timestamps = appliedAt === null ? {} : { 'applied-at': formatTime(appliedAt) };
  return [{ id: runId, type: 'runs', attributes: { status: runStatus, 'status-timestamps': timestamps } }];
}
