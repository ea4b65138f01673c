import { readEstate } from '../estate.ts';
import { jsonResponse } from '../responses.ts';
import type { Request, Response, RouteTable } from '../types.ts';
import { requireAgent, seesService, tellsFiltered } from './access.ts';
import { indexHeaders, type MeshContext } from './context.ts';

const NODE = 'node-1';
/** Its support ended on 2026-05-24. */
export const CONSUL_VERSION = '1.20.5';

/** The services that are registered, with the flavor of the real products: the catalog and the agent's own. */
export const catalogRoutes: RouteTable<MeshContext> = {
  'GET /catalog/services': listCatalog,
  'GET /agent/self': showAgent,
  'GET /agent/services': listAgent,
};

/** The tags of each service by its name. */
function listCatalog(request: Request, context: MeshContext): Response {
  const registered = ['consul', ...Object.keys(readEstate(context.estate).mesh.services)];
  const seen = registered.filter((name) => seesService(context, request, name, NODE));
  const isFiltered = seen.length < registered.length && tellsFiltered(context, request);
  const headers = {
    ...indexHeaders(40),
    'x-consul-effective-consistency': 'leader',
    ...(isFiltered ? { 'x-consul-results-filtered-by-acls': 'true' } : {}),
  };
  return jsonResponse(Object.fromEntries(seen.map((name) => [name, []])), headers);
}

function showAgent(request: Request, context: MeshContext): Response {
  requireAgent(context, request, NODE);
  const config = { Datacenter: 'dc1', NodeName: NODE, Revision: '', Server: true, Version: CONSUL_VERSION };
  return jsonResponse({ Config: config, DebugConfig: { VersionMetadata: '' }, Member: { Name: NODE } });
}

function listAgent(request: Request, context: MeshContext): Response {
  const seen = Object.keys(readEstate(context.estate).mesh.services).filter((name) =>
    seesService(context, request, name),
  );
  const rest = { Tags: [], Meta: {}, Port: 8080, Address: '', Datacenter: 'dc1' };
  return jsonResponse(Object.fromEntries(seen.map((name) => [name, { ID: name, Service: name, ...rest }])));
}
