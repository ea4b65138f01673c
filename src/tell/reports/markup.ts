import Handlebars from 'handlebars';

/** Text in HTML and SVG, in content and in quoted attributes. */
export function escapeMarkup(text: string): string {
  return Handlebars.escapeExpression(text);
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

/** A label, and the line across the picture that it names: the axis at 0. */
export function drawTick(value: number, line: string, label: { x: number; y: number; end: boolean; text: string }) {
  const rule = element('path', { class: value === 0 ? 'axis' : 'grid-line', d: line });
  return `${rule}${drawLabel(label.x, label.y, label.end ? 'end' : 'middle', label.text)}`;
}

export function drawLabel(x: number, y: number, anchor: 'middle' | 'end', text: string): string {
  return element('text', { x, y, ...(anchor === 'end' && { dy: '.32em' }), 'text-anchor': anchor }, escapeMarkup(text));
}
