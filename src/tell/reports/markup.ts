import Handlebars from 'handlebars';

/** Text in HTML and SVG, in content and in quoted attributes. */
export function escapeMarkup(text: string): string {
  return Handlebars.escapeExpression(text);
}

/** A coordinate in SVG: a tenth of a pixel is exact enough, and short. */
export function roundPixels(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}
