import Handlebars from 'handlebars';

/** Text in HTML and SVG, in content and in quoted attributes. */
export function escapeMarkup(text: string): string {
  return Handlebars.escapeExpression(text);
}

/** `registry.terraform.io/hashicorp/aws` */
const ADDRESS = /^[\w.:-]+(?:\/[\w.:-]+){2,}$/u;
const PLAIN = /^[\w ./:@+()[\],;*#%—…−-]*$/;

/**
 * Text that may run from right to left does not affect its surroundings. Most text is plain and needs neither this nor escapes. An address
 * breaks between its names.
 */
export function isolate(text: string): string {
  if (PLAIN.test(text)) return ADDRESS.test(text) ? text.replaceAll('/', '/<wbr>') : text;
  return /^[\x20-\x7e—…−×]*$/u.test(text) ? escapeMarkup(text) : `<bdi>${escapeMarkup(text)}</bdi>`;
}

/** A coordinate in SVG: a tenth of a pixel is exact enough, and short. */
export function roundPixels(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

/** An element of SVG. Its content is markup. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  ...content: readonly string[]
): string {
  const written = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${typeof value === 'number' ? roundPixels(value) : escapeMarkup(value)}"`,
  );
  return `<${name}${written.join('')}${content.length > 0 ? `>${content.join('')}</${name}>` : '/>'}`;
}

/** What a reader sees of an element when it points at it. */
export function tooltip(text: string): string {
  return `<title>${escapeMarkup(text)}</title>`;
}

/** A picture for wide or for narrow screens, of which the stylesheet shows one: at this size, without scaling, its text is readable. */
export function drawVariant(
  { name, width, height }: { readonly name: 'wide' | 'narrow'; readonly width: number; readonly height: number },
  title: string,
  content: readonly string[],
): string {
  const attributes = { class: name, xmlns: 'http://www.w3.org/2000/svg', role: 'img' };
  return element('svg', { ...attributes, viewBox: `0 0 ${width} ${height}` }, tooltip(title), ...content);
}

/** A line across the picture at a value. */
export function drawRule(value: number, path: string): string {
  return element('path', { class: value === 0 ? 'axis' : 'grid-line', d: path });
}

/** A label whose middle is at a place, or that ends there. */
export function drawLabel(x: number, y: number, anchor: 'middle' | 'end', text: string): string {
  const vertical = anchor === 'end' ? { dy: '.32em' } : {};
  return element('text', { x, y, ...vertical, 'text-anchor': anchor }, escapeMarkup(text));
}
