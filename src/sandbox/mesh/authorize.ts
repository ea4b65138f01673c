import type { Ask, Reply } from '../types.ts';
import { json, type MeshWorld, namespaceOf, text } from './reply.ts';
import type { Intention } from './state.ts';

const SERVICE_URI = /^spiffe:\/\/[^/]+\/ns\/([^/]+)\/dc\/[^/]+\/svc\/([^/]+)$/;
const ANY_URI = /^spiffe:\/\/[^/]+(\/.*)?$/;
const COLON_HEX = /^[0-9a-f]{2}(:[0-9a-f]{2})*$/i;

type Wanted = { readonly target: string; readonly source: string };

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // a lone `%` stands for itself
  }
}

function parseBody(body: string): Record<string, unknown> | string {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null) return parsed as Record<string, unknown>;
    return 'not an object';
  } catch (error) {
    return error instanceof Error ? error.message : 'not JSON';
  }
}

/** The document requires the serial; Consul does not look at it (live-services.md D). */
function wantedFrom(body: Record<string, unknown>, serialRequired: boolean): Wanted | string {
  const { Target: target, ClientCertURI: uri, ClientCertSerial: serial } = body;
  if (typeof target !== 'string' || target === '') return 'Target service must be specified';
  if (typeof uri !== 'string' || !ANY_URI.test(uri)) return 'ClientCertURI not a valid Connect identifier';
  const source = SERVICE_URI.exec(uri)?.[2];
  if (source === undefined) return 'ClientCertURI not a valid Service identifier';
  if (serialRequired && (typeof serial !== 'string' || !COLON_HEX.test(serial))) {
    return 'ClientCertSerial must be a colon-hex serial';
  }
  return { target, source: decoded(source) };
}

/** `ALLOW default/web => default/api (ID: …, Precedence: 9)`, as Consul writes an intention. */
function describe({ action, namespace, source, destination, id, precedence }: Intention): string {
  return `${action.toUpperCase()} ${namespace}/${source} => ${namespace}/${destination} (ID: ${id}, Precedence: ${precedence})`;
}

/** A denial is an answer like any other: 200 (live-services.md D). */
export function authorize({ state, flavor }: MeshWorld, ask: Ask): Reply {
  const body = parseBody(ask.body);
  if (typeof body === 'string') return text(400, `Request decode failed: ${body}`);
  const wanted = wantedFrom(body, flavor === 'documents');
  if (typeof wanted === 'string') return text(400, wanted);
  const matched = state.intentions.find(
    ({ source, destination, namespace }) =>
      namespace === namespaceOf(ask, body.Namespace) &&
      (source === '*' || source === wanted.source) &&
      destination === wanted.target,
  );
  if (!matched) return json({ Authorized: false, Reason: 'Default behavior configured by ACLs' });
  const layer = matched.permissions ? 'L7' : 'L4';
  const authorized = matched.action === 'allow' && !matched.permissions;
  return json({ Authorized: authorized, Reason: `Matched ${layer} intention: ${describe(matched)}` });
}
