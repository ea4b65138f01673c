/** A part of a URL; the text itself when it is not encoded: a password may contain a bare `%`. */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
