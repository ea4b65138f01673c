import type { Target, Thresholds } from '../../config/config.ts';
import { DAY_MS, formatTimestamp } from '../../core/clock.ts';
import { formatError } from '../../core/errors.ts';
import { plural } from '../../core/plural.ts';
import { tokens } from '../../extract/sources/tokens.ts';
import type { ServiceError } from '../../http/errors.ts';
import { lacksNamespace } from '../../services/classify-error.ts';
import type { TokenInfo } from '../../services/describe-token.ts';
import type { Operation } from '../../services/operation.ts';
import { findPermission } from '../../services/permission.ts';
import { listValues } from '../../services/scheduler/acl-rules.ts';
import { parseRules, type RuleBlock } from '../../services/scheduler/parse-rules.ts';
import type { CheckList } from './checks.ts';
import type { SourceProbe, TargetProbe } from './probe-sources.ts';

/** A token that ends within `tokenDays` of now is warned of, as the rule `token-expires` finds it. */
export type Ending = { readonly now: Date } & Pick<Thresholds, 'tokenDays'>;

/**
 * Adds the check of the target's token.
 * @returns false if the service refuses the token everywhere, or shows nothing of the organization or the namespace
 */
export function checkToken(list: CheckList, target: Target, probe: TargetProbe, ending: Ending): boolean {
  const { answer, telling, isLacking } = probe;
  if (target.kind === 'autoscaler') {
    if (target.token !== undefined) list.warn('token', 'set, but the service takes none');
    return true;
  }
  if (answer.info) reportToken(list, 'token', target, answer.info, ending);
  if (!isLacking && isBlind(list, target, telling)) return false; // without its explorer, a platform answers
  if (answer.info) return true;
  const [mark, detail] = judgeToken(target, answer.error, telling);
  list[mark]('token', detail, setToken(target));
  return mark !== 'fail';
}

function setToken({ name }: Target): string {
  const rights = `\`tidemark permissions --target ${name}\``;
  return `${name}: set a valid token; ${rights} prints the rights that it needs`;
}

/** What the answers say of a token that the service does not describe. @param refusal of the question who it is */
function judgeToken(
  target: Target,
  refusal: ServiceError | undefined,
  probes: readonly SourceProbe[],
): readonly ['ok' | 'warn' | 'fail', string] {
  const { token } = target;
  const checked = probes.filter(({ source }) => needsToken(source.operations));
  const accepted = checked.filter(({ availability, error }) => isAccepted(target, availability, error));
  if (!refusal || !isRefused(target, refusal)) {
    if (accepted.length > 0) return ['ok', describeAccepted(target, refusal, accepted.length, checked.length)];
    if (checked.length === 0 && (!refusal || token === undefined)) {
      return ['ok', token === undefined ? 'none set' : 'not verified: no endpoint of its sources checks it'];
    }
    const isOpen = probes.some(({ availability }) => ['permitted', 'partial'].includes(availability));
    if (isOpen && token !== undefined && !checked.some(({ error }) => error?.failure === 'unauthorized')) {
      return ['warn', 'not verified: only endpoints that need no right answer'];
    }
  }
  if (token === undefined) return ['fail', 'none set, and the service refuses requests without one'];
  const error = refusal ?? checked[0]?.error;
  const reason = error === undefined ? '' : `: ${error.serviceMessage || error.failure}`;
  return ['fail', `refused by every endpoint${reason}; it is wrong, unknown or expired, or has no right at all`];
}

export function correctNamespace({ name }: Target): string {
  return `${name}: check \`namespace\` in tidemark.yaml`;
}

/** Whether nothing of the organization, or of the namespace, answers. Adds a check for this one cause, in place of one for each source. */
function isBlind(list: CheckList, target: Target, probes: readonly SourceProbe[]): boolean {
  const { name, kind, organization, namespace } = target;
  const errors = probes.flatMap(({ source, error }) => (source === tokens ? [] : [error]));
  const isEvery = (isSuch: (error: ServiceError) => boolean) =>
    errors.length > 0 && errors.every((error) => error !== undefined && isSuch(error));
  const isHidden = kind === 'platform' && isEvery(({ failure }) => failure === 'not-found');
  const advice = `check \`organization\` (${organization}), or use a token that may see it`;
  const detail = `the token is not refused, but every source answers 404: ${advice}`;
  if (isHidden) list.fail('organization', detail, `${name}: check \`organization\` in tidemark.yaml`);
  const isElsewhere = isEvery(lacksNamespace);
  const missing = `the server does not have \`${namespace}\``;
  if (isElsewhere) list.fail('namespace', missing, correctNamespace(target));
  return isHidden || isElsewhere;
}

/**
 * Whether the service does not know the token. Every token may describe itself, except in the secrets service, where a policy may
 * forbid it. Other responses prove nothing: Consul answers a cached leaf certificate to every token.
 */
function isRefused({ kind, token }: Target, { status }: ServiceError): boolean {
  return token !== undefined && kind !== 'secrets' && (status === 401 || status === 403);
}

function needsToken(operations: readonly Operation[] | undefined): boolean {
  return operations === undefined || operations.some((operation) => findPermission(operation).text !== 'none');
}

/** Whether a response shows that the service knows the token. The platform answers 404 to a good token without the right. */
function isAccepted(target: Target, availability: SourceProbe['availability'], error?: ServiceError): boolean {
  if (['permitted', 'partial', 'absent', 'misplaced'].includes(availability)) return true;
  return target.kind === 'platform' && error?.failure === 'not-found';
}

function describeAccepted({ token }: Target, error: ServiceError | undefined, accepted: number, checked: number) {
  if (token === undefined) return `none set; ${accepted} of ${checked} sources need none`;
  const where = `accepted by ${accepted} of ${checked} sources`;
  if (error) return `${where}, but it may not be described: ${formatError(error)}`;
  return `${where}; the service does not say who it is or when it ends`;
}

const MANAGEMENT_HINT = 'use one that only reads (`tidemark permissions`), or say why with `managementToken: REASON`';

/** Adds who a token is, what it may do and when it ends. */
export function reportToken(list: CheckList, check: string, target: Target, info: TokenInfo, ending: Ending): void {
  const { now, tokenDays } = ending;
  const detail = `${describeIdentity(info)}; ${describeRights(target, info)}; ${describeEnd(info, now)}`;
  const leftMs = info.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(info.expires_at) - now.getTime();
  const isTooStrong = check === 'token' && info.is_management === true && target.managementToken === undefined;
  if (info.type === 'acl-disabled') list.ok(check, 'not checked: ACLs are disabled at this service');
  else if (info.type === 'anonymous') list.ok(check, 'none set; requests are anonymous');
  else if (leftMs <= 0) list.fail(check, detail, check === 'token' ? setToken(target) : undefined);
  else if (leftMs <= tokenDays * DAY_MS) list.warn(check, detail);
  else if (isTooStrong) list.warn(check, `${detail}; ${MANAGEMENT_HINT}`);
  else list.ok(check, detail);
}

function describeIdentity({ type, name, accessor_id, policies, roles }: TokenInfo): string {
  const named = (what: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`${what} ${names.slice(0, 8).join(', ')}${names.length > 8 ? ', …' : ''}`];
  const who = [type ?? 'token', name === null ? undefined : `\`${name}\``, accessor_id && `(${accessor_id})`];
  return [who.filter(Boolean).join(' '), ...named('policies', policies), ...named('roles', roles)].join(', ');
}

const WRITES = ['create', 'update', 'patch', 'delete', 'sudo', 'root'];

/** What a service tells. What a token may read is also said of each source. */
function describeRights({ kind }: Target, { is_management, rights }: TokenInfo): string {
  if (is_management === true) return 'may do everything';
  if (kind === 'scheduler') return describeRules(rights ?? {});
  if (kind !== 'secrets' || rights === null) return 'the service does not say what it may do';
  const pathsWith = (names: readonly string[]) => {
    const paths = Object.entries(rights).filter(([, list]) => [list].flat().some((one) => names.includes(String(one))));
    return paths.length === 0 ? 'nothing' : paths.map(([path]) => path).join(', ');
  };
  return `may read ${pathsWith(['read', 'list', 'root'])}; may write ${pathsWith(WRITES)}`;
}

/** The blocks of ACL rules on one line, such as `namespace "*" (csi-read-volume)`. */
function describeRules(rules: Readonly<Record<string, unknown>>): string {
  const policies = Object.entries(rules).map(([name, text]) => ({
    name,
    root: typeof text === 'string' ? parseRules(text) : undefined,
  }));
  const blocks = policies.flatMap(({ root }) => root?.blocks ?? []).flatMap((block) => describeBlock(block));
  if (blocks.length === 0) return 'its rights are those of its policies';
  const unknown = policies.flatMap(({ name, root }) => (root ? [] : `; what the policy ${name} grants is not known`));
  return `may: ${blocks.slice(0, 6).join('; ')}${blocks.length > 6 ? '; …' : ''}${unknown.slice(0, 6).join('')}`;
}

function describeBlock(block: RuleBlock, place = ''): readonly string[] {
  const name = `${place}${block.kind}${block.label === null ? '' : ` "${block.label}"`}`;
  const granted = [...listValues(block, 'policy'), ...listValues(block, 'capabilities')];
  const isSaid = granted.length > 0 || block.blocks.length === 0;
  return [
    ...(isSaid ? [`${name} (${granted.join(', ') || 'nothing'})`] : []),
    ...block.blocks.flatMap((inner) => describeBlock(inner, `${name} `)),
  ];
}

function describeEnd({ expires_at }: TokenInfo, now: Date): string {
  if (expires_at === null) return 'no end is reported';
  const days = (Date.parse(expires_at) - now.getTime()) / DAY_MS;
  const when = formatTimestamp(new Date(expires_at));
  if (days <= 0) return `ended at ${when}`;
  return `ends at ${when}, in ${days < 2 ? plural(Math.floor(days * 24), 'hour') : plural(Math.floor(days), 'day')}`;
}
