import { createHash } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import type { Database } from '../../warehouse/database.ts';
import type { SqlFiles } from '../../warehouse/sql-files.ts';
import type { PlaybookSummary } from '../findings/guide.ts';
import { toUtcDate } from '../reports/archive.ts';
import { toSpreadsheetCsv } from '../reports/format.ts';
import { createSubjectLinker, type SubjectLinker, selectSubjects } from '../reports/subjects.ts';
import { createTemplateEngine, readTemplate } from '../reports/templates.ts';
import { buildDigest, CSV_NAME, type Digest, type DigestOptions } from './digest.ts';
import { type DigestData, MAX_LINES, readDigestData } from './digest-data.ts';
import type { Attachment, Message } from './message.ts';
import { type Audience, explicitRecipients, resolveAudiences } from './recipients.ts';
import { type MailSettings, resolveMailSettings } from './transport.ts';

type ComposeSettings = Pick<MailSettings, 'sender' | 'routes'>;

/** What a digest needs to know of its job. */
export interface MailJob {
  readonly name: string;
  readonly reports: readonly string[];
  readonly mail?: { readonly to: readonly string[]; readonly when: 'always' | 'changed' | 'findings' } | undefined;
}

export interface ComposeOptions {
  /** The working copy of the warehouse, or the published one. */
  readonly database: Database;
  readonly files: SqlFiles;
  readonly config: Pick<Config, 'targets' | 'thresholds' | 'reportsUrl' | 'mail' | 'subjectPages'>;
  readonly job: MailJob;
  readonly run: { readonly runId: string; readonly asOf: Date };
  readonly composedAt: Date;
  /** Recipients instead of those of the job and the routes. They get the unfiltered digest, and `when` is ignored. */
  readonly to?: readonly string[];
  /** Whether a user requested the digest, so that `when` is ignored. */
  readonly isRequested?: boolean;
  /** Further lines and files, such as plans of playbooks. They go with unfiltered digests only. */
  readonly notes?: readonly string[];
  readonly attachments?: readonly Attachment[];
  /** The playbooks, for the next step of each finding. @default none */
  readonly playbooks?: () => Promise<readonly PlaybookSummary[]>;
  /** The sender and the routes. @default those of the configuration, which must name a mail server */
  readonly settings?: ComposeSettings;
  /** Size of the HTML above which lists are shortened. @default 80000 */
  readonly maxHtmlBytes?: number;
}

export interface ComposeResult {
  readonly messages: readonly Message[];
  /** Recipients without a digest, and why. */
  readonly skipped: readonly { readonly recipients: readonly string[]; readonly reason: string }[];
}

/**
 * Composes the digests of a run, one message per recipient. It writes nothing but temporary tables.
 * @throws TidemarkError CONFIG for a missing mail server or an invalid address; DATA naming the query or template that fails
 */
export async function composeMessages(options: ComposeOptions): Promise<ComposeResult> {
  const { config, job, to } = options;
  const settings = options.settings ?? resolveMailSettings(config);
  const audiences =
    to === undefined ? resolveAudiences(job.name, job.mail?.to ?? [], settings) : [explicitRecipients(job.name, to)];
  const renderer = await createRenderer(options.files.roots);
  const linkSubject = await loadSubjectLinker(options);
  const messages: Message[] = [];
  const skipped: ComposeResult['skipped'][number][] = [];
  for (const audience of audiences) {
    const data = await readDigestData(options, audience);
    const reason = options.isRequested || to ? undefined : skipReason(job.mail?.when ?? 'always', data);
    if (reason === undefined)
      messages.push(...buildMessages({ ...options, linkSubject }, settings, audience, data, renderer));
    else skipped.push({ recipients: audience.to.map(({ address }) => address), reason });
  }
  return { messages, skipped };
}

function skipReason(when: 'always' | 'changed' | 'findings', data: DigestData): string | undefined {
  const { since, metrics, counts, unassessed } = data;
  if (when === 'findings' && counts.current === 0) return 'there are no findings';
  if (when !== 'changed' || since === null) return undefined;
  const isChanged =
    metrics.some(
      ({ value, before, changes }) => Object.keys(changes).length > 0 || (before !== null && before !== value),
    ) ||
    counts.changed > 0 ||
    counts.changed_sources > 0 ||
    unassessed.some((row) => row.changed);
  return isChanged ? undefined : 'nothing changed';
}

/** Links to the pages that the reports of the run have for subjects; undefined where nobody serves them. */
async function loadSubjectLinker({ database, files, config, run }: ComposeOptions): Promise<SubjectLinker | undefined> {
  if (config.reportsUrl === undefined || config.subjectPages === 0) return undefined;
  const selection = await selectSubjects({ database, files, asOf: run.asOf }, { limit: config.subjectPages });
  return createSubjectLinker(selection, () => undefined);
}

function buildMessages(
  options: ComposeOptions & Pick<DigestOptions, 'linkSubject'>,
  settings: ComposeSettings,
  audience: Audience,
  data: DigestData,
  renderer: DigestRenderer,
): readonly Message[] {
  const { job, run, composedAt } = options;
  const { notes = [], attachments = [] } = audience.isUnfiltered ? options : {};
  const digest = renderWithinSize(
    (maxLines) => buildDigest({ ...options, notes }, audience, data, maxLines),
    renderer,
    options.maxHtmlBytes ?? MAX_HTML_BYTES,
  );
  const csv =
    digest.csv === null
      ? []
      : [{ name: CSV_NAME, type: 'text/csv; charset=utf-8', text: toSpreadsheetCsv(data.attached) }];
  const domain = settings.sender.address.split('@').at(-1) ?? '';
  return audience.to.map((to) => ({
    messageId: createMessageId(
      [job.name, run.runId, to.address.toLowerCase(), ...(options.to ? [composedAt.toISOString()] : [])],
      domain,
    ),
    job: job.name,
    runId: run.runId,
    targets: data.counts.targets.join(', '),
    composedAt: composedAt.toISOString(),
    to,
    subject: digest.subject,
    html: digest.html,
    text: digest.text,
    attachments: [...csv, ...attachments],
    pages: digest.pages.map((name) => ({ name, date: toUtcDate(run.asOf) })),
  }));
}

/**
 * The same digest for the same recipient has the same Message-ID, so that a mail server recognizes a repeated delivery. A digest
 * requested with `--to` has a new one each time, so that it is not discarded as a duplicate.
 */
function createMessageId(parts: readonly string[], domain: string): string {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return `<tidemark.${hash.slice(0, 32)}@${domain}>`;
}

/** Gmail clips HTML above about 102 kB; the rest is reserved for what gateways add. */
const MAX_HTML_BYTES = 80_000;
/** Tried in order; with the last one, even the longest names fit. */
const REDUCED_LINES = [12, 8, 5, 3];

/** Renders the two parts of a digest, from `reports/digest.hbs` and `reports/digest.txt.hbs`. */
type DigestRenderer = Readonly<Record<'html' | 'text', (digest: Digest) => string>>;

async function createRenderer(roots: readonly string[]): Promise<DigestRenderer> {
  const load = async (format: 'html' | 'text', name: string) => {
    const [engine, source] = [await createTemplateEngine(roots, format), await readTemplate(roots, name)];
    return (digest: Digest) => engine.render(`reports/${name}`, source, digest);
  };
  return { html: await load('html', 'digest.hbs'), text: await load('text', 'digest.txt.hbs') };
}

/** Renders the digest, with fewer lines where long names would make it too large. */
function renderWithinSize(build: (maxLines: number) => Digest, renderer: DigestRenderer, maxBytes: number) {
  let digest = build(MAX_LINES);
  let html = renderer.html(digest);
  for (const maxLines of REDUCED_LINES) {
    if (Buffer.byteLength(html) < maxBytes) break;
    digest = build(maxLines);
    html = renderer.html(digest);
  }
  return { ...digest, html, text: `${renderer.text(digest).trim()}\n` };
}
