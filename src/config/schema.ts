import { z } from 'zod';
import { MAX_SECONDS } from '../core/choices.ts';
import { HEADER_TEXT, isHeaderText } from '../core/header-text.ts';
import { isObject, listAt, textAt } from '../core/json-path.ts';
import { readSize } from '../core/size.ts';
import { approvers } from './approvers.ts';
import { isLakeAddress, parseS3Address } from './lake.ts';
import { checkLinks, links } from './links.ts';
import { ADDRESS_ERROR, parseMailAddress, parseSmtpUrl, SMTP_ERROR } from './mail.ts';

/** The schema of `tidemark.yaml` with its defaults. The descriptions are its reference. */

export const TARGET_KINDS = ['platform', 'secrets', 'scheduler', 'autoscaler', 'mesh', 'registry'] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

/** So many days are a thousand years: a time that far from now still has a year of four digits. */
const MAX_LENGTH = 365_000;
const positive = z.number().positive().max(MAX_LENGTH);
const seconds = z.number().positive().max(MAX_SECONDS);
const wholeNumber = z.int().positive();
const nonEmpty = z.string().min(1, 'must not be empty');
const listOf = (what: string) => z.array(nonEmpty, `must be a list of ${what}`);
/** What is sent as a header. HTTP removes spaces around it, so the redactor must not know them either. */
const headerText = z.string().trim().min(1, 'must not be empty').refine(isHeaderText, `must be ${HEADER_TEXT}`);

/** DuckDB does not open a file with a limit of more bytes than an integer has. */
const size = z
  .string()
  .regex(/^\d+(\.\d+)?\s*[KMGT]i?B$/iu, 'must be a size such as 1GB')
  .refine(
    (text) => readSize(text) >= 1 && readSize(text) < 2 ** 63,
    'must be above 0, and no more than a machine can have',
  );

const limits = z.strictObject({
  requestsPerSecond: positive.optional().describe('upper bound; a lower limit that the service advertises wins'),
  concurrency: wholeNumber.default(8).describe('requests in progress at the same time'),
  share: z.number().gt(0).max(1).default(0.9).describe('fraction of the advertised limit that Tidemark uses'),
  maxPages: wholeNumber.optional().describe('pages of one source; 100000 unless set'),
  maxItems: wholeNumber.optional().describe('items in the lists of one source; 20 million unless set'),
  maxBytes: wholeNumber.optional().describe('bytes of the responses of one source; 64 GiB unless set'),
  maxSeconds: seconds.optional().describe('seconds for one source; six hours unless set'),
});

const trimSlashes = (path: string) => path.replaceAll(/^\/+|\/+$/gu, '');
const mount = z.string().transform(trimSlashes).pipe(nonEmpty);
const hasNoRepeats = (names: readonly string[]) => new Set(names).size === names.length;
const MOUNTS_ERROR = 'must be a mount, or a list of different mounts';
const meshMounts = z.union([mount, z.array(mount).min(1).refine(hasNoRepeats, MOUNTS_ERROR)], MOUNTS_ERROR);

/** Rules of several fields are checked even where a field is wrong: all errors of a file are reported at once. */
const WHATEVER_SHAPE = { when: () => true };

const target = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/u, 'must be letters, digits, `.`, `_` or `-`, a letter or digit first')
      .max(255, 'must have at most 255 characters: a folder has this name'),
    kind: z.enum(TARGET_KINDS, `must be one of ${TARGET_KINDS.join(', ')}`),
    url: nonEmpty,
    organization: nonEmpty.optional(),
    token: headerText.optional(),
    writeToken: headerText.optional(),
    managementToken: nonEmpty
      .optional()
      .describe('why `token` is a management token although Tidemark only reads with it'),
    tokenHeader: z
      .string()
      .regex(/^[A-Za-z0-9-]+$/u, 'must be a header name')
      .optional(),
    mounts: z.strictObject({ keymgmt: mount.optional(), mesh: meshMounts.optional() }).default({}),
    namespace: headerText.optional(),
    host: z
      .string()
      .regex(/^[a-z0-9.-]+(?::\d+)?$/u, 'must be a host name such as registry.terraform.io')
      .optional()
      .describe('host of the source addresses that a registry answers for; that of `url` unless set'),
    services: z
      .array(nonEmpty.regex(/^[^/]+(?:\/[^/]+)?$/u, 'must be `service` or `namespace/service`'))
      .default([])
      .describe('services of the mesh whose leaf certificates are recorded: `service` or `namespace/service`'),
    sources: listOf('sources')
      .min(1, 'must name at least one source')
      .optional()
      .describe('the only sources that the target has'),
    without: listOf('sources').default([]).describe('sources that the target does not have'),
    flavor: z.enum(['spec', 'hashicorp'], 'must be `spec` or `hashicorp`').default('spec'),
    explorer: z
      .enum(['csv', 'json', 'workspaces'], 'must be `csv`, `json` or `workspaces`')
      .default('csv')
      .describe(
        'how explorer views are pulled; `workspaces` where the service has no explorer: from the list of workspaces',
      ),
    missingColumns: listOf('columns')
      .default([])
      .describe('documented columns of explorer views that the service does not have'),
    sees: z
      .union(
        [z.enum(['all', 'partial']), z.record(nonEmpty, z.enum(['all', 'partial']))],
        'must be `all`, `partial`, or one of them for each source',
      )
      .optional()
      .describe('whether listings contain everything that the service has, where the service does not tell'),
    limits: limits.default({ concurrency: 8, share: 0.9 }),
    credential: nonEmpty
      .optional()
      .describe(
        'targets with the same name of a credential are in the same shard; the reference of the token unless set',
      ),
    lag: z
      .number()
      .nonnegative()
      .max(MAX_SECONDS)
      .default(30)
      .describe('seconds until readings show a change; actions without a clear answer are read over this time'),
    links: links.optional().describe("URL templates of the product's pages, by type of subject"),
    caFile: nonEmpty.optional(),
    clientCert: nonEmpty.optional(),
    clientKey: nonEmpty.optional(),
  })
  .superRefine(checkTarget, WHATEVER_SHAPE);

const mailbox = z.string().refine((text) => parseMailAddress(text) !== undefined, ADDRESS_ERROR);
export const mailboxes = z.union([mailbox, z.array(mailbox).min(1)], ADDRESS_ERROR);
export const webUrl = z.url({ protocol: /^https?$/u, error: 'must be a URL that begins with https:// or http://' });

const route = z.strictObject({
  to: mailboxes,
  projects: z.array(nonEmpty).optional(),
  targets: z.array(nonEmpty).optional(),
});

const mail = z.strictObject({
  smtp: nonEmpty.refine((text) => parseSmtpUrl(text) !== undefined, SMTP_ERROR),
  from: mailbox,
  routes: z.array(route).default([]),
  caFile: nonEmpty.optional().describe('certificate authorities of the mail server, in addition to those of Node'),
});

export const thresholds = z.strictObject({
  agentSilentMinutes: positive.default(10),
  deadAgentHours: positive.default(24),
  deadViewDays: positive.default(30),
  keyRotationDays: positive.default(90),
  keyVersionsKept: wholeNumber.default(3),
  snapshotDays: positive.default(7),
  staleSnapshotDays: positive.default(90),
  certificateDays: positive.default(30),
  tokenDays: positive.default(14),
  staleHours: positive.default(36),
  waitingRunDays: positive.default(3),
  notAppliedDays: positive.default(7),
  staleApplyDays: positive.default(180),
  idleDriftDays: positive.default(30),
  resourceJumpPercent: positive.default(50),
  resourceJumpCount: wholeNumber.default(20),
  supportDays: positive.default(90),
  lifecycleDays: positive.default(120),
});

export const configSchema = z
  .strictObject({
    data: nonEmpty.default('./data'),
    output: nonEmpty.default('./out'),
    lake: nonEmpty
      .refine(
        (text) => !isLakeAddress(text) || parseS3Address(text) !== undefined,
        'must be a folder or s3://BUCKET/PREFIX',
      )
      .optional()
      .describe('folder or s3://BUCKET/PREFIX of Delta tables that each run is published to'),
    targets: z.array(target, 'must be a list of targets').min(1, 'must name at least one target'),
    mail: mail.optional(),
    landingDays: positive.default(14),
    historyDays: z
      .int()
      .min(35, 'must be 35 or more: digests compare with the last run of their job')
      .max(MAX_LENGTH)
      .optional()
      .describe('days to keep replaced versions of rows and ended actions; all by default'),
    fullReadDays: z
      .int()
      .nonnegative()
      .max(MAX_LENGTH)
      .default(7)
      .describe('days until unchanged objects are read again; 0 for every pull'),
    reportDays: positive.default(90),
    subjectPages: z.int().nonnegative().default(1000).describe('subjects with a page of their own'),
    planDays: positive.default(90),
    planHours: positive.default(24).describe('hours in which a plan must be approved and applied'),
    approvers: approvers.optional().describe('who may approve plans, with a signature'),
    groupRead: z.boolean().default(false).describe('the group may read the published warehouse'),
    shrinkPercent: z.number().gt(0).max(100).default(50),
    maxWait: seconds.default(120).describe('seconds'),
    maxRunTime: seconds.default(43_200).describe('seconds for the pulls of a run'),
    memoryLimit: size.default('1GB'),
    sql: z
      .strictObject({
        timeout: seconds.default(300).describe('seconds that a query may take'),
        memoryLimit: size.default('1GB').describe('memory of a query'),
        temporaryLimit: size.default('10GB').describe('temporary disk space of a query'),
      })
      .prefault({}),
    reportsUrl: webUrl.optional(),
    pricing: z
      .strictObject({
        perResourceMonth: z.number().positive().describe('price of a resource under management for a month'),
        currency: nonEmpty.max(10).describe('name of the currency, such as USD'),
        free: z.int().nonnegative().default(0).describe('resources that cost nothing'),
      })
      .optional()
      .describe('what resources cost; the report `cost` shows no amounts without it'),
    lifecycle: z
      .strictObject({
        url: webUrl
          .refine((text) => !hasLogin(text), 'must not contain a user or password')
          .describe('address that answers as endoflife.date does; {product} stands for a name'),
      })
      .optional()
      .describe('where each run asks how long versions are supported; by default it uses what the package carries'),
    thresholds: thresholds.prefault({}),
    plugins: listOf('files').default([]).describe('modules with sources and playbooks'),
    schedule: z
      .strictObject({
        listen: nonEmpty.optional(),
        catchUpHours: z.number().nonnegative().max(MAX_LENGTH).default(6),
        lockWaitMinutes: z
          .number()
          .nonnegative()
          .max(MAX_LENGTH)
          .default(30)
          .describe('minutes that a job waits for a lock'),
      })
      .prefault({}),
  })
  .superRefine(checkDocument, WHATEVER_SHAPE);

export type RawConfig = z.infer<typeof configSchema>;
export type RawTarget = RawConfig['targets'][number];
export type Thresholds = z.infer<typeof thresholds>;

/** In the landing of a run, beside the folders of the targets (`src/extract/resume.ts`, `src/landing/store.ts`). Some file systems ignore case. */
const LANDED_FILE = /^(?:unfinished|run)\.json$/iu;

function checkTarget(given: unknown, { addIssue }: z.RefinementCtx): void {
  if (!isObject(given)) return;
  const { name, kind, url, organization, token, clientCert, clientKey, sources, without } = given;
  const report = (field: string, message: string, ...below: readonly string[]) =>
    addIssue({ code: 'custom', path: [field, ...below], message });
  const error = typeof url === 'string' ? urlError(url) : undefined;
  if (typeof name === 'string' && LANDED_FILE.test(name))
    report('name', 'is the name of a file in the landing of each run');
  if (error) report('url', error);
  if (kind === 'platform' && !organization) report('organization', 'is required for kind platform');
  if ((kind === 'platform' || kind === 'secrets') && !token) report('token', `is required for kind ${kind}`);
  const services = (listAt(given, 'services') ?? []).filter((one) => typeof one === 'string');
  const namespace = textAt(given, 'namespace'); // without one, it is that of the token
  const places = services.map((one) => (one.includes('/') || namespace === null ? one : `${namespace}/${one}`));
  if (!hasNoRepeats(places)) report('services', 'names a service twice');
  if (sources !== undefined && [without].flat().length > 0) report('without', 'cannot be used together with sources');
  if (Boolean(clientCert) !== Boolean(clientKey)) report('clientCert', 'requires clientKey, and clientKey requires it');
  checkLinks(kind, given.links, (key, problem) => report('links', problem, key));
}

function hasLogin(text: string): boolean {
  if (!URL.canParse(text)) return false; // another rule says so
  const { username, password } = new URL(text);
  return username !== '' || password !== '';
}

export function urlError(text: string): string | undefined {
  if (!URL.canParse(text)) return 'is not a URL such as https://host:port';
  if (!['https:', 'http:'].includes(new URL(text).protocol)) return 'must begin with https:// or http://';
  if (hasLogin(text)) return 'must not contain a user or password; use token';
  // A path is appended to it: one after a space is no URL, and one after `?` or `#` is not sent.
  if (/[\s?#]/u.test(text)) return 'must not contain a space, a query or a fragment';
  return undefined;
}

function checkDocument(given: unknown, { addIssue }: z.RefinementCtx): void {
  const report = (path: (string | number)[], message: string) => addIssue({ code: 'custom', path, message });
  const names = (listAt(given, 'targets') ?? []).map((one) => textAt(one, 'name'));
  const folders = names.map((name) => name?.toLowerCase());
  for (const [index, name] of names.entries()) {
    const first = folders.indexOf(folders[index]);
    if (name === null || first === index) continue;
    const how = names[first] === name ? '' : ' but for its case, which some file systems ignore';
    report(['targets', index, 'name'], `\`${name}\` is already the name of targets[${first}]${how}`);
  }
  for (const [index, rule] of (listAt(given, 'approvers', 'rules') ?? []).entries()) {
    const name = textAt(rule, 'target');
    if (name === null || names.includes(name)) continue;
    report(['approvers', 'rules', index, 'target'], `no target has the name ${name}`);
  }
}
