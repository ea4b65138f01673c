import { type Config, meshMounts, type Target } from '../../config/config.ts';
import type { WorkContext } from '../../core/context.ts';
import { formatError } from '../../core/errors.ts';
import { toFields } from '../../core/json-path.ts';
import { stripControls } from '../../core/log.ts';
import type { Redactor } from '../../core/redact/redactor.ts';
import { meshRoles } from '../../extract/sources/mesh-roles.ts';
import { servers } from '../../extract/sources/servers.ts';
import { hasSource, type SourceDefinition } from '../../extract/sources/source.ts';
import { catchFailure, type FailureKind, ServiceError } from '../../http/errors.ts';
import { describePart, type UnknownPart } from '../../landing/store.ts';
import { type ServiceClient, ServiceClients } from '../../services/client.ts';
import { secretsServer } from '../../services/describe-server.ts';
import { describeToken, isAclDisabled, type TokenInfo } from '../../services/describe-token.ts';
import { platform } from '../../services/platform/operations.ts';
import type { ServiceResponse } from '../../services/response.ts';

/** Whether a source can be pulled. `partial`: but for some parts; `absent`: the service does not have it; `misplaced`: its engine is at another path. */
export type Availability = 'permitted' | 'partial' | 'absent' | 'misplaced' | 'refused' | 'failed';

export interface SourceProbe {
  readonly source: SourceDefinition;
  readonly availability: Availability;
  readonly detail: string;
  /** Where the engines of a source are, as `mounts` of the target names them; unless it names them already. */
  readonly mount?: Readonly<Record<string, string | readonly string[]>>;
  readonly response?: ServiceResponse;
  readonly error?: ServiceError;
  /** The check failed in the source itself, or in what the answer contains: it tells nothing of the service and its token. */
  readonly isOwnFault?: true;
}

/** What the service says about a token, or why it does not. Neither where it cannot be asked: the API documents have no such endpoint. */
type TokenAnswer = Awaited<ReturnType<typeof askToken>>;

/** Clients for probes: a person waits for the answers, and a pull has more patience. */
export function createProbeClients(config: Pick<Config, 'maxWait'>, context: Omit<WorkContext, 'clock'>) {
  const log = { ...context.log, info: () => {} };
  const timeouts = { attempts: 2, headersMs: 30_000, ...context.timeouts };
  return new ServiceClients(config, { ...context, log, timeouts }, context.signal);
}

export async function askToken(client: ServiceClient) {
  const { flavor, kind } = client.target;
  const isAsked = flavor === 'hashicorp' && kind !== 'autoscaler' && kind !== 'registry';
  const answer = isAsked ? await describeToken(client).catch(catchServiceError) : undefined;
  return answer instanceof ServiceError ? { error: answer } : { info: answer };
}

/** The answers of a target, and what follows from them. */
export type TargetProbe = Readonly<Awaited<ReturnType<typeof probeTarget>>>;

/** Asks who the token is, makes the cheapest calls of each source that the target has, and says why one cannot be pulled. */
export async function probeTarget(client: ServiceClient, known: readonly SourceDefinition[], redactor: Redactor) {
  const { target } = client;
  const answer = await askToken(client);
  const sources = known.filter((source) => hasSource(target, source));
  const results = await Promise.all(sources.map((source) => callSource(source, client)));
  const hasMounts =
    (target.flavor === 'hashicorp' && sources.includes(meshRoles)) ||
    results.some(({ error }) => error instanceof ServiceError && error.failure === 'wrong-mount');
  const engines = hasMounts ? await readEngines(client) : undefined;
  const probes = results.map(({ source, response, error, unknown }): SourceProbe => {
    const asked = { target, source, engines, token: answer.info };
    const { detail, ...explained } =
      error === undefined
        ? { ...explainSuccess(asked, unknown), ...(response && { response }) }
        : explainError(asked, error);
    return { source, ...explained, detail: redactor.text(detail) };
  });
  const answered = probes.filter(({ isOwnFault }) => !isOwnFault);
  // These show what the token may do. The server says what it is without a token as well, and a refusal is no failure of that source.
  const telling = answered.filter(({ source }) => source !== servers);
  const isLacking = await lacksExplorer(client, probes);
  return {
    answer,
    probes,
    telling,
    isLacking,
    unreachable: findCommonError(answer, answered, ({ status }) => status === undefined),
    noService: isLacking ? undefined : findNoService(answer, telling),
  };
}

/** What the answers to a source are explained with. */
interface Asked {
  readonly target: Target;
  readonly source: SourceDefinition;
  readonly engines: Engines;
  readonly token: TokenInfo | undefined;
}

function explainSuccess({ target, source, engines }: Asked, unknown: readonly UnknownPart[]): Explanation {
  const { paths, hasUnnameable } = findEngines(target, source === meshRoles ? engines : [], 'mesh');
  if (unknown.length > 0) {
    const parts = unknown.map(describePart).join('; ');
    return { availability: 'partial', detail: `partial: ${stripControls(parts)}` };
  }
  const mesh = [...meshMounts(target), ...paths];
  const { title } = ENGINES.mesh;
  const details = [
    'permitted',
    ...(paths.length > 0 ? [`other ${title}s are not read: \`mounts: { mesh: ${formatPaths(mesh)} }\` adds them`] : []),
    ...(hasUnnameable ? [`another ${title} is not read: it is ${UNNAMEABLE_PLACE}`] : []),
  ];
  const mount = paths.length > 0 && { mount: { mesh } };
  return { availability: 'permitted', detail: stripControls(details.join('; ')), ...mount };
}

/** Whatever is wrong with one source, such as a plugin that throws, is the result of its check: the others are checked. */
async function callSource(source: SourceDefinition, client: ServiceClient) {
  const unknown: UnknownPart[] = [];
  try {
    return { source, unknown, response: await source.checkAccess(client, (part) => unknown.push(part)) };
  } catch (error) {
    return { source, unknown, error: error ?? 'no reason' };
  }
}

/** For `catch`: why a service does not answer. */
const catchServiceError = catchFailure(() => true);

type Engines = Awaited<ReturnType<typeof readEngines>>;

/** The engines that the token can see; undefined if the service does not tell. */
async function readEngines(client: ServiceClient) {
  const response = await client.call(secretsServer.mounts).catch(catchServiceError);
  if (response instanceof ServiceError) return undefined;
  const mounts = Object.entries(toFields(toFields(toFields(response.json()).data).secret));
  return mounts.map(([path, mount]) => ({ path: path.replace(/\/$/u, ''), type: String(toFields(mount).type) }));
}

type Explanation = Omit<SourceProbe, 'source'>;

function explainError(asked: Asked, error: unknown): Explanation {
  if (!(error instanceof ServiceError)) return { availability: 'failed', detail: formatError(error), isOwnFault: true };
  if (error.failure === 'wrong-mount' && asked.target.kind === 'secrets') return { error, ...explainMount(asked) };
  const absence = describeAbsence(asked, error);
  if (absence !== undefined) return { error, availability: 'absent', detail: `absent: ${absence}` };
  const isRefused = ['unauthorized', 'forbidden', 'not-found'].includes(error.failure);
  return { error, availability: isRefused ? 'refused' : 'failed', detail: formatError(error) };
}

const ENGINES = {
  keymgmt: { title: 'key management engine', type: 'keymgmt' },
  mesh: { title: 'mesh credentials engine', type: 'consul' },
} as const;

/**
 * Whoever mounts an engine may choose `${NAME}`, in whose place the next request would have a secret, or what is another path in a URL. A line to
 * paste has no line breaks.
 */
const UNNAMEABLE = /[$?#%{}\\\p{Cc}]|(?:^|\/)\.\.?(?:\/|$)/u;
const UNNAMEABLE_PLACE =
  'at a path with one of `$?#%{}\\`, a control character, or a part `..`; move it with `vault secrets move`';

/** The paths of the engines for a mount that a target does not name, and whether there are others, which it cannot name. */
function findEngines({ mounts }: Target, engines: Engines, mount: keyof typeof ENGINES) {
  const named = [mounts[mount]].flat();
  const other = (engines ?? []).filter(({ type, path }) => type === ENGINES[mount].type && !named.includes(path));
  const paths = other.map(({ path }) => path).filter((path) => !UNNAMEABLE.test(path));
  return { paths, hasUnnameable: paths.length < other.length };
}

/** A text that YAML reads as it is. */
const PLAIN = /^(?!(?:null|true|false|yes|no|on|off|y|n)$)[a-z][\w./-]*$/iu;

const formatPath = (path: string) => (PLAIN.test(path) ? path : JSON.stringify(path));
const formatPaths = (paths: readonly string[]) => `[${paths.map(formatPath).join(', ')}]`;

/** Tells an engine that does not exist from one that is mounted elsewhere. */
function explainMount({ target, source, engines }: Asked): Explanation {
  const mount = source === meshRoles ? 'mesh' : 'keymgmt';
  const { title } = ENGINES[mount];
  const { paths: elsewhere, hasUnnameable } = findEngines(target, engines, mount);
  const [first] = elsewhere;
  if (first !== undefined) {
    const found = mount === 'mesh' && elsewhere.length > 1 ? elsewhere : first;
    const line = `mounts: { ${mount}: ${typeof found === 'string' ? formatPath(found) : formatPaths(found)} }`;
    const where = [found].flat().join('` and `');
    const detail = `wrong mount: the ${title} is at \`${where}\`; add \`${line}\` to the target`;
    return { availability: 'misplaced', detail, mount: { [mount]: found } };
  }
  if (hasUnnameable) {
    return { availability: 'failed', detail: `wrong mount: the ${title} is ${UNNAMEABLE_PLACE}` };
  }
  const seen = engines === undefined ? '' : ', nor anywhere else that the token can see';
  return {
    availability: 'absent',
    detail: `absent: this service has no ${title} at \`${[target.mounts[mount]].flat().join('` or `')}\`${seen}`,
  };
}

/** A page that the router of a server sends for a path that it does not have; the API itself answers in JSON. */
const UNKNOWN_PATH = /page not found|not a recognized HTTP API endpoint|cannot get/iu;

/** Why the service does not have a source; undefined if the failure does not show that. */
function describeAbsence({ target, source: { name }, token }: Asked, error: ServiceError): string | undefined {
  const { serviceMessage, failure } = error;
  if (isAclDisabled(error)) return 'ACLs are disabled at this service';
  if (target.kind === 'mesh' && /Connect must be enabled/iu.test(serviceMessage)) {
    return 'the mesh is switched off at this agent';
  }
  if (failure !== 'not-found') return undefined;
  if (UNKNOWN_PATH.test(serviceMessage)) return 'this service does not have the endpoint';
  if (target.kind !== 'platform') return undefined;
  const isPools = name === 'agent_pools' || name === 'agents';
  if (isPools && token?.rights?.agents === false) {
    return `the plan of the organization ${target.organization} includes no agents`;
  }
  const isOwner = token?.is_management === true;
  return isOwner ? `an organization token gets 404, so ${target.organization} does not have it` : undefined;
}

/** Whether the explorer answers 404 and the list of workspaces answers: `explorer: workspaces` then reads what there is. */
async function lacksExplorer(client: ServiceClient, probes: readonly SourceProbe[]): Promise<boolean> {
  const isAbsent = probes.some(({ source, error }) => source.name === 'workspaces' && error?.failure === 'not-found');
  if (!isAbsent || client.target.explorer === 'workspaces') return false;
  const answer = await client.call(platform.workspaces.list, { 'page[size]': 1 }).catch(catchServiceError);
  return !(answer instanceof ServiceError);
}

/** The first error of the checks, if every request failed so. */
function findCommonError(
  { info, error: refusal }: TokenAnswer,
  probes: readonly SourceProbe[],
  isSuch: (error: ServiceError) => boolean,
): ServiceError | undefined {
  const errors = [...probes.map(({ error }) => error), ...((info ?? refusal) ? [refusal] : [])];
  return errors.every((error) => error && isSuch(error)) ? errors[0] : undefined;
}

/** Failures that a right or a name decides. Every other one is of the server, or of something in front of it. */
const ANSWERS: readonly FailureKind[] = ['unauthorized', 'forbidden', 'wrong-mount'];

/**
 * The first error, if every request failed in a way that tells nothing of the token and of what the service has: it answers nobody, or
 * something else answers in its place, which has none of the paths. The platform's own 404 may mean that the token lacks a right.
 */
function findNoService(answer: TokenAnswer, telling: readonly SourceProbe[]): ServiceError | undefined {
  return findCommonError(answer, telling, (error) => {
    const { failure, details } = error;
    return !ANSWERS.includes(failure) && !details.lacks && !isAclDisabled(error);
  });
}

/** Why a server answers nobody, and what to do. */
export async function describeSealed(client: ServiceClient, error: ServiceError): Promise<string> {
  const response = await client.call(secretsServer.health).catch(catchServiceError);
  // Nothing where the service has no such endpoint.
  const { initialized, sealed, standby } = response instanceof ServiceError ? {} : toFields(response.json());
  if (initialized === false) return 'not initialized: initialize it (`vault operator init`), then unseal it';
  if (sealed === true) return 'sealed: unseal it (`vault operator unseal`)';
  if (standby === true) return 'a standby that knows no active node: start or unseal the active one';
  return `out of service: ${formatError(error)}`;
}
