import { stripControls } from '../../core/log.ts';

/** Files of RFC 5545, which calendars subscribe to. */

const MAX_LINE_BYTES = 75;
const LINE_BREAK = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/gu;

/** A value of the type TEXT. */
export function escapeCalendarText(text: string): string {
  return text
    .replaceAll(/[\\;,]/gu, String.raw`\$&`)
    .split(LINE_BREAK)
    .map(stripControls)
    .join(String.raw`\n`);
}

/** Lines as RFC 5545 ends and folds them. */
export function toCalendarLines(text: string): string {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => `${foldLine(line)}\r\n`)
    .join('');
}

/** No line is longer than 75 octets, and no character is cut. */
function foldLine(line: string): string {
  let bytes = 0;
  let folded = '';
  for (const character of line) {
    const size = Buffer.byteLength(character);
    if (bytes + size > MAX_LINE_BYTES) {
      folded += '\r\n ';
      bytes = 1;
    }
    folded += character;
    bytes += size;
  }
  return folded;
}
