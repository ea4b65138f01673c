import { type Random, uuid } from '../random.ts';
import { HttpError, jsonResponse, parseObject } from '../responses.ts';
import type { Flavor, Request, Response, RouteTable } from '../types.ts';
import { requireService } from './access.ts';
import { type Intention, type MeshContext, meshNamespace } from './context.ts';

interface Connection {
  readonly target: string;
  readonly source: string;
}

/** docs/services/mesh.md#authorize. */
export const authorizeRoutes: RouteTable<MeshContext> = {
  'POST /agent/connect/authorize': { writes: false, handle: authorize },
};
export const liveAuthorizeRoutes: RouteTable<MeshContext> = {
  'PUT /agent/connect/authorize': { writes: false, handle: authorize },
};

/** A denial is a 200 like any other response. */
function authorize(request: Request, context: MeshContext): Response {
  const body = parseObject(request.body, (reason) => new HttpError(400, `Request decode failed: ${reason}`));
  const { source, target } = parseConnection(body, context.flavor === 'spec');
  requireService(context, request, target, 'write');
  const namespace = meshNamespace(request, body.Namespace);
  const matched = context.intentions.find(
    (intention) =>
      intention.namespace === namespace &&
      (intention.source === '*' || intention.source === source) &&
      intention.destination === target,
  );
  const headers = context.flavor === 'hashicorp' ? { 'x-cache': 'HIT', age: '0' } : {};
  if (!matched) return jsonResponse({ Authorized: false, Reason: 'Default behavior configured by ACLs' }, headers);
  const layer = matched.hasPermissions ? 'L7' : 'L4';
  const isAuthorized = matched.action === 'allow' && !matched.hasPermissions;
  const decision = {
    Authorized: isAuthorized,
    Reason: `Matched ${layer} intention: ${formatIntention(matched, context.flavor)}`,
  };
  return jsonResponse(decision, headers);
}

const SERVICE_URI = /^spiffe:\/\/[^/]+\/ns\/([^/]+)\/dc\/[^/]+\/svc\/([^/]+)$/;
const ANY_URI = /^spiffe:\/\/[^/]+(\/.*)?$/;
const COLON_HEX = /^[0-9a-f]{2}(:[0-9a-f]{2})*$/i;

/** The specification requires the serial; Consul ignores it. */
function parseConnection(body: Readonly<Record<string, unknown>>, isSerialRequired: boolean): Connection {
  const { Target: target, ClientCertURI: uri, ClientCertSerial: serial } = body;
  if (typeof target !== 'string' || target === '') throw new HttpError(400, 'Target service must be specified');
  if (typeof uri !== 'string' || !ANY_URI.test(uri)) {
    throw new HttpError(400, 'ClientCertURI not a valid Connect identifier');
  }
  const source = SERVICE_URI.exec(uri)?.[2];
  if (source === undefined) throw new HttpError(400, 'ClientCertURI not a valid Service identifier');
  if (isSerialRequired && (typeof serial !== 'string' || !COLON_HEX.test(serial))) {
    throw new HttpError(400, 'ClientCertSerial must be a colon-hex serial');
  }
  return { target, source: decodeSegment(source) };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // a `%` that begins no escape is literal
  }
}

/** `ALLOW default/web => default/api (ID: …, Precedence: 9)`; newer versions of Consul put the action at the end. */
function formatIntention(intention: Intention, flavor: Flavor): string {
  const { action, namespace, source, destination, id, precedence } = intention;
  const connection = `${namespace}/${source} => ${namespace}/${destination}`;
  const verb = action.toUpperCase();
  if (flavor === 'hashicorp') return `${connection} (Precedence: ${precedence}, Action: ${verb})`;
  return `${verb} ${connection} (ID: ${id}, Precedence: ${precedence})`;
}

export function seedIntentions(random: Random): Intention[] {
  const intentions: readonly Omit<Intention, 'id' | 'namespace'>[] = [
    { source: 'web', destination: 'api', action: 'allow', hasPermissions: false, precedence: 9 },
    { source: 'web', destination: 'billing', action: 'deny', hasPermissions: false, precedence: 9 },
    { source: 'api', destination: 'billing', action: 'allow', hasPermissions: true, precedence: 9 },
    { source: '*', destination: 'web', action: 'allow', hasPermissions: false, precedence: 8 },
  ];
  return intentions.map((intention) => ({ ...intention, namespace: 'default', id: uuid(random) }));
}
