import { stat } from 'node:fs/promises';
import type { Config, Target, Thresholds } from '../../config/config.ts';
import { parseSmtpUrl } from '../../config/mail.ts';
import { canonicalJson } from '../../core/canonical-json.ts';
import type { WorkContext } from '../../core/context.ts';
import { formatError, TidemarkError } from '../../core/errors.ts';
import { fileSystemError } from '../../core/fs.ts';
import { overlayRoots } from '../../core/paths.ts';
import { plural } from '../../core/plural.ts';
import type { Redactor } from '../../core/redact/redactor.ts';
import { secretWeakness } from '../../core/redact/weak-secrets.ts';
import { fitsTarget, hasSource, isWanted, type SourceDefinition } from '../../extract/sources/source.ts';
import { catchFailure, HINTS, ServiceError } from '../../http/errors.ts';
import { lacksNamespace } from '../../services/classify-error.ts';
import type { ServiceClient, ServiceClients } from '../../services/client.ts';
import { identifyService } from '../../services/describe-server.ts';
import { platform } from '../../services/platform/operations.ts';
import { findUnprovenListings } from '../../tell/findings/evaluate.ts';
import { readRules } from '../../tell/findings/rules.ts';
import { openTransport, resolveMailSettings } from '../../tell/mail/transport.ts';
import { formatAge } from '../../tell/reports/format.ts';
import { readLatest } from '../../warehouse/latest.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
import { withPublished } from '../../warehouse/session.ts';
import { createSqlFiles, type SqlFiles } from '../../warehouse/sql-files.ts';
import { freeBytes } from '../../warehouse/storage.ts';
import { explainFuture } from '../run.ts';
import { checkLake, type LakeContext } from './check-lake.ts';
import { checkToken, correctNamespace, type Ending, reportToken } from './check-token.ts';
import { type Check, type CheckList, createCheckList } from './checks.ts';
import {
  askToken,
  createProbeClients,
  describeSealed,
  probeTarget,
  type SourceProbe,
  type TargetProbe,
} from './probe-sources.ts';

/**
 * Checks every target and its sources with a few cheap calls, the warehouse, the lake and the mail server. Changes nothing, but for a file
 * that it writes to the lake and removes.
 */
export async function diagnose(config: Config, context: WorkContext & LakeContext, known: readonly SourceDefinition[]) {
  const clients = createProbeClients(config, context);
  const files = createSqlFiles(overlayRoots(config.directory));
  const shared = { ...context, ...config.thresholds, files, clients, known };
  const checks = config.targets.map((target) => checkTarget(shared, target));
  const targets = await Promise.all(checks).finally(() => clients.close());
  return [
    ...checkConfiguration(config),
    ...targets.flat(),
    ...(await checkWarehouse(config, context.clock.now())),
    ...(await checkLake(config, context)),
    ...(await checkMail(config, context.redactor)),
  ];
}

/** Refuses secrets that cannot be masked wherever they appear, and says who may let what act. */
function checkConfiguration({ targets, mail, approvers }: Config): readonly Check[] {
  const list = createCheckList('configuration');
  const secrets: readonly (readonly [string, string | undefined])[] = [
    ...targets.flatMap(({ name, token, writeToken }) => [
      [`token of ${name}`, token] as const,
      [`writeToken of ${name}`, writeToken] as const,
    ]),
    ['password of mail', mail && parseSmtpUrl(mail.smtp)?.password],
  ];
  for (const [name, secret] of secrets) {
    const weakness = secret ? secretWeakness(secret) : undefined;
    if (weakness === undefined) continue;
    const effect = 'it is masked only as a whole value, and it is sent as it is; use a longer, random one';
    list.fail(name, `weak: it ${weakness}, so ${effect}`, `replace the ${name}: a secret must be long and random`);
  }
  const people = approvers && plural(approvers.people.length, 'approver');
  const everyone = 'none: whoever can write the data folder can approve any plan, in any name (docs/approvals.md)';
  list.ok('approvers', approvers ? `${approvers.approvals} of ${people} must sign a plan` : everyone);
  return list.checks;
}

async function checkWarehouse(config: Config, now: Date): Promise<readonly Check[]> {
  const list = createCheckList('warehouse');
  const { published } = warehouseFiles(config.data);
  try {
    const latest = await withPublished(config, readLatest);
    list.ok('published', published);
    const problem = latest && explainFuture(latest, now);
    if (problem !== undefined) list.fail('clock', problem, repairWarehouse(problem));
  } catch (error) {
    const isMissing = error instanceof TidemarkError && (error.cause as NodeJS.ErrnoException)?.code === 'ENOENT';
    const file = fileSystemError(error);
    const problem = file ? `${file.path} cannot be used: ${file.reason}` : formatError(error);
    if (isMissing) list.ok('published', `none yet at ${published}: \`tidemark pull\` creates it`);
    else list.fail('published', problem, repairWarehouse(problem));
    return list.checks;
  }
  const { size } = await stat(published);
  const free = await freeBytes(config.data);
  const detail = `${formatMebibytes(free)} free, the file takes ${formatMebibytes(size)}`;
  list[free > 3 * size ? 'ok' : 'fail']('space', detail, 'free space on the disk of the warehouse');
  return list.checks;
}

const repairWarehouse = (problem: string) => `repair the warehouse: ${problem}`;

/** `2 s ahead of the service`, `3 days behind the service` */
function formatClockOffset(seconds: number): string {
  if (seconds === 0) return 'as that of the service';
  const size = Math.abs(seconds) < 120 ? `${Math.abs(seconds)} s` : formatAge(Math.abs(seconds) * 1000);
  return `${size} ${seconds > 0 ? 'ahead of' : 'behind'} the service`;
}

function formatMebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 / 1024)} MiB`;
}

const MAIL_TIMEOUTS = { connectMs: 5_000, idleMs: 5_000 };

/** Checks that the mail server takes the connection and the password. `tidemark mail JOB --to ADDRESS` tests the delivery. */
async function checkMail(config: Config, redactor: Redactor): Promise<readonly Check[]> {
  if (!config.mail) return [];
  const list = createCheckList('mail', redactor);
  const settings = resolveMailSettings(config);
  const { server } = settings;
  try {
    const transport = openTransport({ ...settings, timeouts: MAIL_TIMEOUTS });
    await transport.verify().finally(() => transport.close());
    list.ok('reachable', `${server.host}:${server.port}`);
  } catch (error) {
    const repair = 'check `mail.smtp` in tidemark.yaml, and whether the mail server runs';
    list.fail('reachable', formatError(error), repair);
  }
  return list.checks;
}

interface CheckContext extends Pick<WorkContext, 'redactor' | 'clock'>, Pick<Thresholds, 'tokenDays'> {
  readonly files: SqlFiles;
  readonly clients: ServiceClients;
  readonly known: readonly SourceDefinition[];
}

async function checkTarget(context: CheckContext, target: Target): Promise<readonly Check[]> {
  const { redactor, clock, files, clients, known, tokenDays } = context;
  const list = createCheckList(target.name, redactor);
  const checkUrl = `${target.name}: check \`url\` in tidemark.yaml`;
  const client = clients.get(target);
  const probe = await probeTarget(client, known, redactor);
  const { probes, isLacking, unreachable, noService } = probe;
  if (unreachable) {
    const { hint = HINTS.unreachable } = unreachable;
    const repair = hint === HINTS.unreachable ? `${checkUrl}, and the network` : `${target.name}: ${hint}`;
    list.fail('reachable', formatError(unreachable), repair);
    return list.checks;
  }
  list.ok('reachable', target.url);
  if (noService) {
    if (noService.failure !== 'sealed')
      list.fail('answers', formatError(noService), `${checkUrl}, and what answers there`);
    else {
      const state = await describeSealed(client, noService);
      list.fail('state', state, `${target.name} is ${state}`);
    }
    return list.checks;
  }
  await checkIdentity(list, clients, target);
  const now = clock.now();
  const isAccepted = checkToken(list, target, probe, { now, tokenDays });
  await checkWriteToken(list, clients, target, { now, tokenDays });
  checkHeaders(list, target, probes, now);
  if (target.kind === 'platform' && isAccepted) checkExplorer(list, target, isLacking, known);
  if (isAccepted) checkSources(list, target, probes, isLacking);
  if (isAccepted) await checkListings(list, files, target, probe);
  checkSelection(list, target, known);
  return list.checks;
}

/** Asks over two connections: two services behind one balancer look like gains and losses of rows each night. */
async function checkIdentity(list: CheckList, clients: ServiceClients, target: Target): Promise<void> {
  const ask = () => identifyService(clients, target).catch(catchFailure(() => true));
  const answers = [await ask(), await ask()];
  const said = answers.flatMap((one) => (one === null || one instanceof ServiceError ? [] : [canonicalJson(one)]));
  if (new Set(said).size < 2) return;
  const repair = `${target.name}: set \`url\` to the members of one cluster: two services answer there`;
  list.fail('identity', `two connections reached two services: ${said.join(' and ')}`, repair);
}

/** Reports the token that applies changes, without using it for anything else. */
async function checkWriteToken(list: CheckList, clients: ServiceClients, target: Target, ending: Ending) {
  const { writeToken, flavor } = target;
  if (writeToken === undefined || flavor !== 'hashicorp') return;
  const client: ServiceClient = clients.get({ ...target, name: `${target.name} (writeToken)`, token: writeToken });
  const { info, error } = await askToken(client);
  if (info) reportToken(list, 'write token', target, info, ending);
  const repair = error && lacksNamespace(error) ? correctNamespace(target) : undefined;
  if (error) list.fail('write token', `refused: ${error.serviceMessage || error.failure}`, repair);
}

/** A larger difference makes tokens, certificates and ages of agents wrong. */
const MAX_CLOCK_OFFSET_S = 60;

function checkHeaders(list: CheckList, { name }: Target, probes: readonly SourceProbe[], now: Date): void {
  const headers = probes.flatMap(({ response }) => (response ? [response.headers] : []));
  const limit = headers.map((all) => all.get('x-ratelimit-limit')).find((value) => value !== null);
  list.ok('rate limit', limit === undefined || limit === null ? 'not reported' : `${limit} requests per second`);
  const date = headers.map((all) => Date.parse(all.get('date') ?? '')).find((value) => !Number.isNaN(value));
  if (date === undefined) return;
  const offS = Math.round((now.getTime() - date) / 1000);
  const repair = `set the clock of this machine, or of ${name}`;
  list[Math.abs(offS) <= MAX_CLOCK_OFFSET_S ? 'ok' : 'fail']('clock', formatClockOffset(offS), repair);
}

/** @param isLacking another line proposes what to do about the explorer */
function checkSources(list: CheckList, target: Target, probes: readonly SourceProbe[], isLacking: boolean): void {
  const absent = probes
    .filter(({ availability, source }) => availability === 'absent' && !(isLacking && readsExplorer(source)))
    .map(({ source }) => source.name);
  const proposal = `add to this target: ${leaveOut(target, absent)}`;
  const repairs: Partial<Record<SourceProbe['availability'], string>> = {
    failed: `${target.name}: see why a source cannot be checked, or try again later`,
    misplaced: `${target.name}: set \`mounts\` of the target, as its checks propose`,
  };
  const repairOf = ({ source, availability }: SourceProbe) =>
    absent.includes(source.name) ? `${target.name}: ${proposal}` : repairs[availability];
  for (const probe of probes)
    list[probe.availability === 'permitted' ? 'ok' : 'fail'](probe.source.name, probe.detail, repairOf(probe));
  if (absent.length > 0) list.fail('sources', proposal, `${target.name}: ${proposal}`);
}

/** The line that takes sources from a target. */
function leaveOut({ sources, without }: Target, absent: readonly string[]): string {
  return sources
    ? `sources: [${sources.filter((name) => !absent.includes(name)).join(', ')}]`
    : `without: [${[...new Set([...without, ...absent])].join(', ')}]`;
}

/** Says what the explorer's views are read from. */
function checkExplorer(list: CheckList, target: Target, isLacking: boolean, known: readonly SourceDefinition[]): void {
  const unanswered = known.filter((source) => isWanted(target, source) && !hasSource(target, source));
  const unknown = ['drift', 'checks', 'resources', ...unanswered.map(({ name }) => name)];
  if (target.explorer === 'workspaces') {
    list.ok('explorer', `not used: the list of workspaces is read, which does not tell ${unknown.join(', ')}`);
  } else if (isLacking) {
    const proposal = 'add `explorer: workspaces` to this target, or give the token the right to read the explorer';
    const detail = `it answers 404, and the list of workspaces answers: ${proposal}`;
    list.fail('explorer', detail, `${target.name}: ${proposal}`);
  } else list.ok('explorer', target.explorer === 'json' ? 'used, as JSON pages' : 'used, as CSV exports');
}

function readsExplorer({ needsExplorer, operations = [] }: SourceDefinition): boolean {
  return needsExplorer === true || operations.includes(platform.explorer.query);
}

/** Names the sources that the configuration leaves out. */
function checkSelection(list: CheckList, target: Target, known: readonly SourceDefinition[]): void {
  const left = known.filter((source) => fitsTarget(source, target) && !isWanted(target, source));
  if (left.length > 0) list.ok('without', left.map(({ name }) => name).join(', '));
}

/**
 * Warns of listings that may be a part of what the service has: rules that conclude from what is not listed stay unknown there.
 * Sources from whose absence no rule concludes are left out.
 */
async function checkListings(list: CheckList, files: SqlFiles, target: Target, { probes, answer }: TargetProbe) {
  const readable = probes.filter(({ availability }) => availability === 'permitted' || availability === 'partial');
  const sources = readable.map(({ source }) => source.name);
  const { rules } = readRules(files);
  for (const { source, why } of await findUnprovenListings(files, target, sources, answer.info)) {
    const unknown = rules.filter(({ proves, asks }) => [...proves, ...asks].includes(source)).map(({ name }) => name);
    if (unknown.length > 0) list.warn('sees', `${source}: ${why}; ${unknown.join(', ')} may stay unknown`);
  }
}
