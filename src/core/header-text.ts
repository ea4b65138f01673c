/** What `isHeaderText` accepts, as the end of a message. */
export const HEADER_TEXT = 'one line without control characters, as an HTTP header can carry it';

/** Printable characters of ISO 8859-1, which is all that an HTTP header can carry. */
export function isHeaderText(text: string): boolean {
  return /^[\x20-\x7e\xa0-\xff]*$/u.test(text);
}
