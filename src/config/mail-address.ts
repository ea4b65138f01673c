/** A mailbox, apart so that no library parses it again: a name with a comma in it must never become two recipients. */
export interface MailAddress {
  /** Empty where there is none. */
  readonly name: string;
  readonly address: string;
}

/** Control, format (bidirectional marks among them) and separator characters; none of them belongs into a header. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
/** A name in quotes may hold what would otherwise separate addresses. */
const MAILBOX = /^(?:(?:"(?<quoted>[^"\\]*)"|(?<name>[^"<>@,;]*?))\s*<(?<inner>[^<>\s]+)>|(?<bare>[^<>\s]+))$/u;
/** RFC 5322 addr-spec without quoting and comments, as every real mailbox is written; letters beyond ASCII are let through. */
const ADDRESS = /^[^\s@"(),:;<>[\]\\]+@[^\s@"(),:;<>[\]\\.]+(?:\.[^\s@"(),:;<>[\]\\.]+)*$/u;

/** Reads `a@b.example` or `Name <a@b.example>`; undefined when it is neither, or holds anything else beside. */
export function parseMailAddress(text: string): MailAddress | undefined {
  if (UNSEEN.test(text)) return undefined;
  const { quoted, name, inner, bare } = MAILBOX.exec(text.trim())?.groups ?? {};
  const address = inner ?? bare ?? '';
  return ADDRESS.test(address) ? { name: (quoted ?? name ?? '').trim(), address } : undefined;
}

export const ADDRESS_ERROR = 'must be one address, such as team@acme.example or Team <team@acme.example>';

/** Text for a header or a line of a mail: one line, nothing unseen, not longer than `most` characters. */
export function sanitizeHeader(text: string, most: number): string {
  const clean = text.replaceAll(/\s+/gu, ' ').replaceAll(new RegExp(UNSEEN.source, 'gu'), '').trim();
  return clean.length > most ? `${clean.slice(0, most - 1).replace(/[\ud800-\udbff]$/u, '')}…` : clean;
}
