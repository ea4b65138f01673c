import type { MailAddress } from '../../config/mail.ts';
import { sha256 } from '../../core/sha256.ts';
import { toUtcDate } from '../reports/archive.ts';
import { toSpreadsheetCsv } from '../reports/format.ts';
import { createRenderer, type Renderer } from '../reports/renderer.ts';
import { createSubjectLinker, type SubjectLinker, selectSubjects } from '../reports/subjects.ts';
import { buildDigest, CSV_NAME, type Digest } from './digest.ts';
import { type ComposeOptions, type DigestData, MAX_LINES, readDigestData } from './digest-data.ts';
import { formatDomain, type Message } from './message.ts';
import { type Audience, explicitRecipients, resolveAudiences } from './recipients.ts';
import { resolveMailSettings } from './transport.ts';

export type ComposeResult = Readonly<Awaited<ReturnType<typeof composeMessages>>>;

/**
 * Composes the digests of a run, one message per recipient. It writes nothing but temporary tables.
 * @throws TidemarkError CONFIG for a missing mail server or an invalid address; DATA naming the query or template that fails
 */
export async function composeMessages(options: ComposeOptions) {
  const { config, job, to } = options;
  const settings = options.settings ?? resolveMailSettings(config);
  const audiences =
    to === undefined ? resolveAudiences(job.name, job.mail?.to ?? [], settings) : [explicitRecipients(job.name, to)];
  const renderer = createRenderer(options.files.roots);
  const digestOptions = { ...options, linkSubject: await loadSubjectLinker(options) };
  const messages: Message[] = [];
  /** Recipients without a digest, and why. */
  const skipped: { readonly recipients: readonly string[]; readonly reason: string }[] = [];
  for (const audience of audiences) {
    const data = await readDigestData(options, audience);
    const reason = options.isRequested || to ? undefined : skipReason(job.mail?.when ?? 'always', data);
    if (reason !== undefined) {
      skipped.push({ recipients: audience.to.map(({ address }) => address), reason });
      continue;
    }
    const build = (maxLines: number) => buildDigest(digestOptions, audience, data, maxLines);
    const digest = renderWithinSize(build, renderer, options.maxHtmlBytes ?? MAX_HTML_BYTES);
    messages.push(...addressMessages(options, settings.sender, audience, data, digest));
  }
  return { messages, skipped };
}

function skipReason(when: 'always' | 'changed' | 'findings', data: DigestData): string | undefined {
  const { since, numbers, counts, unassessed, failed } = data;
  if (when === 'findings' && counts.current === 0) return 'there are no findings';
  if (when !== 'changed' || since === null) return undefined;
  const isChanged =
    failed > 0 ||
    numbers.some((row) => row.is_changed) ||
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

function addressMessages(
  { job, run, composedAt, to: requested, attachments = [] }: ComposeOptions,
  sender: MailAddress,
  audience: Audience,
  data: DigestData,
  { subject, html, text, csv, pages }: Digest & Pick<Message, 'html' | 'text'>,
): readonly Message[] {
  const file = { name: CSV_NAME, type: 'text/csv; charset=utf-8' };
  const table = csv === null ? [] : [{ ...file, text: toSpreadsheetCsv(data.attached) }];
  return audience.to.map((to) => ({
    messageId: createMessageId(
      [job.name, run.runId, to.address.toLowerCase(), ...(requested ? [composedAt.toISOString()] : [])],
      sender,
    ),
    job: job.name,
    runId: run.runId,
    targets: data.counts.targets.join(', '),
    composedAt: composedAt.toISOString(),
    to,
    subject,
    html,
    text,
    attachments: [...table, ...(audience.isUnfiltered ? attachments : [])],
    pages: pages.map((name) => ({ name, date: toUtcDate(run.asOf) })),
  }));
}

/**
 * The same digest for the same recipient has the same Message-ID, so that a mail server recognizes a repeated delivery. A digest
 * requested with `--to` has a new one each time, so that it is not discarded as a duplicate.
 */
function createMessageId(parts: readonly string[], sender: MailAddress): string {
  return `<tidemark.${sha256(JSON.stringify(parts)).slice(0, 32)}@${formatDomain(sender)}>`;
}

/** Gmail clips HTML above about 102 kB; the rest is reserved for what gateways add. */
const MAX_HTML_BYTES = 80_000;
/** Tried in order; with the last one, even the longest names fit. */
const REDUCED_LINES = [12, 8, 5, 3];

/** Renders the digest, with fewer lines where long names would make it too large. */
function renderWithinSize(build: (maxLines: number) => Digest, renderer: Renderer, maxBytes: number) {
  const render = (file: string) => renderer.page(file, '', digest);
  let digest = build(MAX_LINES);
  let html = render('digest.hbs');
  for (const maxLines of REDUCED_LINES) {
    if (Buffer.byteLength(html) < maxBytes) break;
    digest = build(maxLines);
    html = render('digest.hbs');
  }
  return { ...digest, html, text: `${render('digest.txt.hbs').trim()}\n` };
}
