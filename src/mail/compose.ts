import { createHash } from 'node:crypto';
import type { Config } from '../core/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { type MailAddress, parseMailAddress } from '../core/mail-address.ts';
import { parseSmtpUrl, type SmtpServer } from '../core/smtp-url.ts';
import { dateOf } from '../render/archive.ts';
import { safeCsv } from '../render/csv.ts';
import type { Database } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { type Audience, askedAudience, audiencesOf } from './audience.ts';
import { CSV_NAME, type Digest, digestOf } from './digest.ts';
import type { Attachment, Message } from './message.ts';
import { moved } from './numbers.ts';
import { type DigestData, MOST_LINES, readDigest } from './read.ts';
import { type DigestPress, openDigestPress } from './templates.ts';

/** The part of a job that mail is about. */
export interface MailJob {
  readonly name: string;
  readonly reports: readonly string[];
  readonly mail?: { readonly to: readonly string[]; readonly when: 'always' | 'changed' | 'findings' } | undefined;
}

export interface ComposeOptions {
  /** The working warehouse, or the published one where nothing is to be kept. */
  readonly database: Database;
  readonly files: SqlFiles;
  readonly config: Pick<Config, 'targets' | 'thresholds' | 'reportsUrl' | 'mail'>;
  readonly job: MailJob;
  readonly run: { readonly runId: string; readonly asOf: Date };
  readonly composedAt: Date;
  /** Sends to these instead of the job's recipients, all of it, whatever `when` says. */
  readonly to?: readonly string[];
  /** Takes `when` for `always`: somebody asked for the digest. */
  readonly asked?: boolean;
  /** What is to be said and attached beside the digest's own, such as plans of playbooks. */
  readonly notes?: readonly string[];
  readonly attachments?: readonly Attachment[];
  /** Size of the HTML beyond which lists are shortened. @default 80000 */
  readonly mostHtmlBytes?: number;
}

/** Digests, and to whom none goes, with the reason. */
export interface Composed {
  readonly messages: readonly Message[];
  readonly left: readonly { readonly recipients: readonly string[]; readonly reason: string }[];
}

/**
 * The digests of a run, one a recipient, ready to be sent. Reads only, but for temporary tables.
 * @throws TidemarkError CONFIG where the configuration names no mail server or no proper address, DATA naming the query or template that is wrong
 */
export async function composeMessages(options: ComposeOptions): Promise<Composed> {
  const { config, job, to } = options;
  const mail = requireMail(config);
  const audiences = to === undefined ? audiencesOf(job.name, job.mail?.to ?? [], mail) : [askedAudience(job.name, to)];
  const press = await openDigestPress(options.files.roots);
  const messages: Message[] = [];
  const left: Composed['left'][number][] = [];
  for (const audience of audiences) {
    const data = await readDigest({ ...options, job: job.name, asOf: options.run.asOf }, audience);
    const reason = options.asked || to ? undefined : reasonNotToSend(job.mail?.when ?? 'always', data);
    if (reason === undefined) messages.push(...messagesOf(options, mail, audience, data, press));
    else left.push({ recipients: audience.to.map(({ address }) => address), reason });
  }
  return { messages, left };
}

/** How mail is sent, and by whom. */
export interface MailSetup {
  readonly server: SmtpServer;
  readonly sender: MailAddress;
  readonly routes: NonNullable<Config['mail']>['routes'];
  readonly caFile?: string | undefined;
}

/** @throws TidemarkError CONFIG where there is no server to send mail by, or no address to send it from. */
export function requireMail({ mail }: Pick<Config, 'mail'>): MailSetup {
  const server = mail && parseSmtpUrl(mail.smtp);
  const sender = mail && parseMailAddress(mail.from);
  if (server && sender) return { server, sender, routes: mail.routes, caFile: mail.caFile };
  throw new TidemarkError('CONFIG', 'tidemark.yaml: mail: is missing, and there is mail to send', {
    hint: 'give it smtp and from, such as smtp://127.0.0.1:25 and Tidemark <reports@acme.example>',
  });
}

function reasonNotToSend(when: 'always' | 'changed' | 'findings', data: DigestData): string | undefined {
  const { since, numbers, counts, sources } = data;
  if (when === 'findings' && counts.standing === 0) return 'nothing is found';
  if (when !== 'changed' || since === null) return undefined;
  const changed =
    numbers.some(moved) || counts.new > 0 || counts.resolved > 0 || sources.some((source) => source.changed);
  return changed ? undefined : 'nothing changed';
}

function messagesOf(
  options: ComposeOptions,
  mail: MailSetup,
  audience: Audience,
  data: DigestData,
  press: DigestPress,
): readonly Message[] {
  const { config, job, run, composedAt, notes = [], attachments = [] } = options;
  const told = audience.whole ? notes : []; // plans are about everything
  const digest = fitting(
    (mostLines) => digestOf({ config, job, asOf: run.asOf, notes: told, mostLines }, audience, data),
    press,
    options.mostHtmlBytes ?? MOST_HTML_BYTES,
  );
  const csv =
    digest.csv === null ? [] : [{ name: CSV_NAME, type: 'text/csv; charset=utf-8', text: safeCsv(data.attached) }];
  const domain = mail.sender.address.split('@').at(-1) ?? '';
  return audience.to.map((to) => ({
    messageId: messageId(
      [job.name, run.runId, to.address.toLowerCase(), ...(options.to ? [composedAt.toISOString()] : [])],
      domain,
    ),
    job: job.name,
    runId: run.runId,
    targets: data.targets.join(', '),
    composedAt: composedAt.toISOString(),
    to,
    subject: digest.subject,
    html: digest.html,
    text: digest.text,
    attachments: [...csv, ...(audience.whole ? attachments : [])],
    pages: digest.pages.map((name) => ({ name, date: dateOf(run.asOf) })),
  }));
}

/**
 * The same digest to the same recipient bears the same Message-ID, so that one sent twice is taken for one. One that somebody
 * asked for with `--to` is a new one each time, else the reader's server would swallow it.
 */
function messageId(parts: readonly string[], domain: string): string {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return `<tidemark.${digest.slice(0, 32)}@${domain}>`;
}

/** Gmail cuts a mail off at about 102 kB of HTML; this leaves room for what gateways add. */
const MOST_HTML_BYTES = 80_000;
/** With the fewest lines, no names are long enough to fill it. */
const FEWER_LINES = [12, 8, 5, 3];

/** Fewer lines where names are so long, or so full of what must be escaped, that the mail would be cut off. */
function fitting(
  digestWith: (mostLines: number) => Digest,
  press: DigestPress,
  mostBytes: number,
): Digest & { html: string; text: string } {
  let digest = digestWith(MOST_LINES);
  let html = press.html(digest);
  for (const mostLines of FEWER_LINES) {
    if (Buffer.byteLength(html) < mostBytes) break;
    digest = digestWith(mostLines);
    html = press.html(digest);
  }
  return { ...digest, html, text: press.text(digest) };
}
