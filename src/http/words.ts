import { printable } from '../core/log.ts';

const MAX_WORDS = 400;

/**
 * The service's own words in an error's body, on one line: JSON:API errors (objects or plain strings), `{"errors": […]}`,
 * plain text, an HTML page's title; empty when it says nothing (live-services.md A1, B1, C1, D). Not redacted yet.
 */
export function wordsOf(text: string): string {
  const trimmed = text.trim();
  const words = looksLikeHtml(trimmed) ? htmlWords(trimmed) : (jsonWords(trimmed) ?? trimmed);
  const line = printable(words.replaceAll(/\s+/gu, ' ')).trim();
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS)}…` : line;
}

export function looksLikeHtml(text: string): boolean {
  return /^\uFEFF?\s*<(?:!doctype|html|head|body|\?xml|!--|script|title)/iu.test(text.slice(0, 400));
}

function htmlWords(html: string): string {
  const title = /<title[^>]*>([^<]{0,200})<\/title>/iu.exec(html)?.[1]?.trim();
  return title ? `an HTML page titled "${title}"` : 'an HTML page';
}

function jsonWords(text: string): string | undefined {
  if (!text.startsWith('{') && !text.startsWith('[') && !text.startsWith('"')) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined; // plain text that begins like JSON
  }
  if (typeof value === 'string') return value;
  const errors = field(value, 'errors');
  if (Array.isArray(errors)) return errors.map(errorWords).filter(Boolean).join('; ');
  return [field(value, 'error'), field(value, 'message')].filter((part) => typeof part === 'string').join(': ');
}

function errorWords(error: unknown): string {
  if (typeof error === 'string') return error;
  const pointer = field(field(error, 'source'), 'pointer');
  const parts = [field(error, 'title'), field(error, 'detail')].filter(
    (part) => typeof part === 'string' && part !== '',
  );
  return `${parts.join(': ')}${typeof pointer === 'string' ? ` (${pointer})` : ''}`;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}
