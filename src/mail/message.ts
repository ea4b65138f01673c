import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { domainToASCII } from 'node:url';
import type { SendMailOptions } from 'nodemailer';
import type { MailAddress } from '../core/mail-address.ts';

/** A file that goes with a mail. */
export interface Attachment {
  readonly name: string;
  readonly type: string;
  readonly text: string;
}

/** A digest for one recipient. */
export interface Message {
  readonly messageId: string;
  readonly job: string;
  readonly runId: string;
  /** Targets that it tells of, comma-separated. */
  readonly targets: string;
  /** ISO 8601. */
  readonly composedAt: string;
  readonly to: MailAddress;
  readonly subject: string;
  readonly html: string;
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** Reports whose pages are attached when it is sent, as the archive holds them of that day. */
  readonly pages: readonly { readonly name: string; readonly date: string }[];
}

/** The message as nodemailer takes it. Addresses are objects: a text would be parsed for further ones. */
export async function mailOf(message: Message, from: MailAddress, output: string): Promise<SendMailOptions> {
  const { messageId, job, composedAt, to, subject, html, text, attachments, pages } = message;
  const domain = from.address.split('@').at(-1) ?? '';
  return {
    from: { ...from },
    to: { ...to },
    subject,
    html,
    text,
    messageId,
    date: new Date(composedAt),
    baseBoundary: messageId.replaceAll(/[^\da-z]/gu, ''), // the same mail, the same bytes
    list: { id: { url: `${labelOf(job)}.tidemark.${domainToASCII(domain)}`, comment: `Tidemark ${job}` } },
    // Nobody's "I am on holiday" shall answer it (RFC 3834; the other is what Exchange minds).
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    disableFileAccess: true,
    disableUrlAccess: true,
    attachments: [
      ...attachments.map(({ name, type, text: content }) => ({ filename: name, contentType: type, content })),
      ...(await pagesOf(pages, output)),
    ],
  };
}

/** A job's name as part of a List-ID, which takes letters, digits and hyphens (RFC 2919). */
function labelOf(job: string): string {
  return job.replaceAll(/[^\da-z]+/giu, '-').replaceAll(/^-|-$/gu, '') || 'job';
}

/** Mail servers commonly refuse more than 10 MB, and what is attached grows by a third on the way. */
const MOST_PAGE_BYTES = 4_000_000;

/** The pages that there are, as long as they fit. */
async function pagesOf(pages: Message['pages'], output: string) {
  let bytes = 0;
  const found: { filename: string; contentType: string; content: string }[] = [];
  for (const { name, date } of pages) {
    const path = join(output, 'archive', date, `${name}.html`);
    if (!existsSync(path)) continue;
    bytes += (await stat(path)).size;
    if (bytes > MOST_PAGE_BYTES) break;
    found.push({
      filename: `${name}.html`,
      contentType: 'text/html; charset=utf-8',
      content: await readFile(path, 'utf8'),
    });
  }
  return found;
}
