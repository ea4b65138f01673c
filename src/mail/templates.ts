import { createTemplateEngine, readTemplate } from '../reports/templates.ts';
import type { Digest } from './digest.ts';

/** Renders the two parts of a digest, from `reports/digest.hbs` and `reports/digest.txt.hbs`. */
export interface DigestRenderer {
  html(digest: Digest): string;
  text(digest: Digest): string;
}

export async function createDigestRenderer(roots: readonly string[]): Promise<DigestRenderer> {
  const [html, text, htmlSource, textSource] = await Promise.all([
    createTemplateEngine(roots, 'html'),
    createTemplateEngine(roots, 'text'),
    readTemplate(roots, 'digest.hbs'),
    readTemplate(roots, 'digest.txt.hbs'),
  ]);
  return {
    html: (digest) => html.render('reports/digest.hbs', htmlSource, digest),
    text: (digest) => `${text.render('reports/digest.txt.hbs', textSource, digest).trim()}\n`,
  };
}
