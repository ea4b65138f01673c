import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { domainToASCII } from 'node:url';
import { createTransport, type SendMailOptions } from 'nodemailer';
import type { MailAddress } from '../../config/mail.ts';
import { writeFileAtomic } from '../../core/fs.ts';

export type Attachment = Readonly<Record<'name' | 'type' | 'text', string>>;

/** A digest for one recipient. */
export interface Message {
  readonly messageId: string;
  readonly job: string;
  readonly runId: string;
  /** The targets that it covers, comma-separated. */
  readonly targets: string;
  /** ISO 8601. */
  readonly composedAt: string;
  readonly to: MailAddress;
  readonly subject: string;
  readonly html: string;
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** Reports whose pages are attached when it is sent, read from the archive of that date. */
  readonly pages: readonly { readonly name: string; readonly date: string }[];
}

/** The message in the form of nodemailer. Addresses are objects, because nodemailer parses a string for several addresses. */
export async function toMailOptions(message: Message, from: MailAddress, output: string): Promise<SendMailOptions> {
  const { messageId, job, composedAt, to, subject, html, text, attachments, pages } = message;
  return {
    from: { ...from },
    to: { ...to },
    subject,
    html,
    text,
    messageId,
    date: new Date(composedAt),
    baseBoundary: messageId.replaceAll(/[^\da-z]/gu, ''), // the same message has the same bytes
    list: { id: { url: `${listIdLabel(job)}.tidemark.${formatDomain(from)}`, comment: `Tidemark ${job}` } },
    // Suppress automatic replies: RFC 3834, and the header that Exchange honors.
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    disableFileAccess: true,
    disableUrlAccess: true,
    attachments: [
      ...attachments.map(({ name, type, text: content }) => ({ filename: name, contentType: type, content })),
      ...(await readPages(pages, output)),
    ],
  };
}

/** The domain of an address, as headers have it: they are ASCII, and so is what is derived from it. */
export function formatDomain({ address }: MailAddress): string {
  return domainToASCII(address.split('@').at(-1) ?? '');
}

/** A job's name as a label of a List-ID, which allows letters, digits and hyphens (RFC 2919). */
function listIdLabel(job: string): string {
  return job.replaceAll(/[^\da-z]+/giu, '-').replaceAll(/^-|-$/gu, '') || 'job';
}

/** Mail servers commonly reject more than 10 MB, and encoding enlarges attachments by a third. */
const MAX_PAGE_BYTES = 4_000_000;

/** The pages that exist, in order, until the size limit. */
async function readPages(pages: Message['pages'], output: string) {
  let bytes = 0;
  const attachments: { filename: string; contentType: string; content: string }[] = [];
  for (const { name, date } of pages) {
    const path = join(output, 'archive', date, `${name}.html`);
    if (!existsSync(path)) continue;
    bytes += (await stat(path)).size;
    if (bytes > MAX_PAGE_BYTES) break;
    attachments.push({
      filename: `${name}.html`,
      contentType: 'text/html; charset=utf-8',
      content: (await readFile(path, 'utf8')).replaceAll(RELATIVE_LINK, '$1'),
    });
  }
  return attachments;
}

/** An attached page has no pages beside it: what links to them becomes plain text. */
const RELATIVE_LINK = /(<a\b[^>]*?) href="(?![a-z][a-z\d+.-]*:|#)[^"]*"/giu;

/** A part of a file name: other texts have other names. What is not safe in one is escaped as in a URL. */
export function fileNamePart(text: string): string {
  const toEscaped = (character: string) => Buffer.from(character).toString('hex').replaceAll(/../gu, '%$&');
  return text.replaceAll(/[^\w.@+-]/gu, toEscaped);
}

/**
 * Writes `mail/JOB.RECIPIENT.eml` below the output folder, with the exact bytes that are sent.
 * @returns its path, and the names of the files that it carries: no page that no report has written, or beyond the size limit
 */
export async function writeEml(message: Message, from: MailAddress, output: string) {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  const options = await toMailOptions(message, from, output);
  const { message: bytes } = await transport.sendMail(options);
  const path = join(output, 'mail', `${fileNamePart(message.job)}.${fileNamePart(message.to.address)}.eml`);
  await writeFileAtomic(path, bytes as Buffer);
  return { path, attached: options.attachments?.map(({ filename }) => String(filename)) ?? [] };
}
