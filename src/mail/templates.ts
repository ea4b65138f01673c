import { readFile } from 'node:fs/promises';
import { TidemarkError } from '../core/errors.ts';
import { findFile } from '../core/paths.ts';
import type { DrawChart } from '../render/charts.ts';
import { templateEngine } from '../render/templates.ts';
import type { Digest } from './digest.ts';

/** The two parts of a digest, from `reports/digest.hbs` and `reports/digest.txt.hbs`. */
export interface DigestPress {
  html(digest: Digest): string;
  text(digest: Digest): string;
}

/** Mail readers draw no SVG: a digest's pictures are table cells, and the drawing library need not be loaded. */
const noDrawing: DrawChart = () => {
  throw new Error('a mail has no drawn charts; use table cells');
};

export async function openDigestPress(roots: readonly string[]): Promise<DigestPress> {
  const [html, text] = await Promise.all([
    templateEngine(roots, 'html', noDrawing),
    templateEngine(roots, 'text', noDrawing),
  ]);
  const [htmlSource, textSource] = await Promise.all([read(roots, 'digest.hbs'), read(roots, 'digest.txt.hbs')]);
  return {
    html: (digest) => html.render('reports/digest.hbs', htmlSource, digest),
    text: (digest) => `${text.render('reports/digest.txt.hbs', textSource, digest).trim()}\n`,
  };
}

async function read(roots: readonly string[], name: string): Promise<string> {
  const path = findFile(roots, `reports/${name}`);
  if (!path) throw new TidemarkError('DATA', `reports/${name} does not exist`);
  return readFile(path, 'utf8');
}
