/** Text as XML 1.0 takes it, without the control characters that it forbids. */
export function escapeXml(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 forbids them
  const allowed = text.replaceAll(/[\x00-\x08\x0b\x0c\x0e-\x1f]/gu, '');
  return allowed.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
