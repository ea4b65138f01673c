import { sliceFields, tryParseJson } from '../core/json.ts';
import { listAt, textAt, valueAt } from '../core/json-path.ts';
import { shortenText, stripControls } from '../core/log.ts';

const MAX_MESSAGE_LENGTH = 400;

/**
 * The error message in a response body, on one line: of JSON:API errors (objects or plain strings), `{"errors": […]}`, plain
 * text, or the title of an HTML page; empty when there is none. Not redacted. The forms are listed under `errors` in
 * docs/services/.
 */
export function extractErrorMessage(text: string): string {
  const trimmed = text.trim();
  const message = looksLikeHtml(trimmed) ? describeHtml(trimmed) : (jsonErrorMessage(trimmed) ?? trimmed);
  return shortenText(stripControls(message.replaceAll(/\s+/gu, ' ')).trim(), MAX_MESSAGE_LENGTH).toWellFormed();
}

export function looksLikeHtml(text: string): boolean {
  return /^\uFEFF?\s*<(?:!doctype|html|head|body|\?xml|!--|script|title)/iu.test(text.slice(0, 400));
}

function describeHtml(html: string): string {
  const title = /<title[^<>]*>([^<]{0,200})<\/title>/iu.exec(html)?.[1]?.trim();
  return title ? `an HTML page titled "${title}"` : 'an HTML page';
}

function jsonErrorMessage(text: string): string | undefined {
  if (!text.startsWith('{') && !text.startsWith('[') && !text.startsWith('"')) return undefined;
  const value = tryParseJson(text);
  if (value === undefined || typeof value === 'string') return value;
  const errors = valueAt(value, 'errors');
  if (Array.isArray(errors)) return errors.map(formatJsonApiError).filter(Boolean).join('; ');
  if (errors) return typeof errors === 'string' ? errors : sliceFields(text).get('errors'); // it may be nested deeper than a function can follow
  return [textAt(value, 'error'), textAt(value, 'message')].filter((part) => part !== null).join(': ');
}

/** The errors that a response in JSON lists; undefined where it has no list of them. */
export function listErrors(text: string): readonly unknown[] | undefined {
  return listAt(tryParseJson(text), 'errors');
}

function formatJsonApiError(error: unknown): string {
  if (typeof error === 'string') return error;
  const pointer = textAt(error, 'source', 'pointer');
  const parts = [textAt(error, 'title'), textAt(error, 'detail')].filter((part) => part !== null);
  return `${parts.join(': ')}${pointer === null ? '' : ` (${pointer})`}`;
}
