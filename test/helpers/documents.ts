import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';

/** What the documents of the repository say, for tests that compare it with the program. */

export interface CodeBlock {
  readonly page: string;
  readonly language: string;
  readonly text: string;
}

/** The pages, relative to the root. */
export const PAGES: readonly string[] = ['.', 'bench', 'deploy', 'docs', 'docs/services'].flatMap((folder) =>
  readdirSync(join(PACKAGE_ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);

export function readPage(page: string): string {
  return readFileSync(join(PACKAGE_ROOT, page), 'utf8');
}

export function codeBlocks(page: string): readonly CodeBlock[] {
  return [...readPage(page).matchAll(/^```(\w*)\n([\s\S]*?)^```/gmu)].map(([, language = '', text = '']) => ({
    page,
    language,
    text,
  }));
}

/** What a text has between backticks, outside of blocks. */
export function inlineCode(text: string): readonly string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gmu, '');
  return [...prose.matchAll(/`([^`\n]+)`/gu)].map(([, code = '']) => code);
}

/** The cells of the rows of the table with this header. */
export function tableRows(page: string, header: string): readonly (readonly string[])[] {
  const [, after = ''] = readPage(page).split(`${header}\n`);
  const [table = ''] = after.split('\n\n');
  return table
    .split('\n')
    .slice(1)
    .filter((row) => row !== '')
    .map((row) =>
      row
        .split(/(?<!\\)\|/u)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** Anchors of the headings of a page, as GitHub makes them. */
export function headingAnchors(markdown: string): ReadonlySet<string> {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```/gmu, '');
  const headings = [...prose.matchAll(/^#{1,6} (.+)$/gmu)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .trim()
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
