/** A mailbox in its parts, so that no library parses it again: a name with a comma must not become two recipients. */
export interface MailAddress {
  /** Empty when there is none. */
  readonly name: string;
  readonly address: string;
}

/** Control, format (such as bidirectional marks) and separator characters, which a header must not contain. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
/** A quoted name may contain the characters that otherwise separate addresses. */
const MAILBOX = /^(?:(?:"(?<quoted>[^"\\]*)"|(?<name>[^"<>@,;]*?))\s*<(?<inner>[^<>\s]+)>|(?<bare>[^<>\s]+))$/u;
/** RFC 5322 addr-spec without quoting and comments; letters beyond ASCII are allowed. */
const ADDRESS = /^[^\s@"(),:;<>[\]\\]+@[^\s@"(),:;<>[\]\\.]+(?:\.[^\s@"(),:;<>[\]\\.]+)*$/u;

/** Reads `a@b.example` or `Name <a@b.example>`; undefined for anything else. */
export function parseMailAddress(text: string): MailAddress | undefined {
  if (INVISIBLE.test(text)) return undefined;
  const { quoted, name, inner, bare } = MAILBOX.exec(text.trim())?.groups ?? {};
  const address = inner ?? bare ?? '';
  return ADDRESS.test(address) ? { name: (quoted ?? name ?? '').trim(), address } : undefined;
}

export const ADDRESS_ERROR = 'must be one address, such as team@acme.example or Team <team@acme.example>';

/** Text for a header or a line of a mail: one line, without invisible characters, at most `maxLength` characters long. */
export function sanitizeHeader(text: string, maxLength: number): string {
  const clean = text.replaceAll(/\s+/gu, ' ').replaceAll(new RegExp(INVISIBLE.source, 'gu'), '').trim();
  return clean.length > maxLength ? `${clean.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/u, '')}…` : clean;
}
