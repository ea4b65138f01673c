import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { operations } from '../../src/services/index.ts';

/** Text files below a folder of the repository, by their path in it. */
function readFolder(folder: string): ReadonlyMap<string, string> {
  const entries = readdirSync(join(PACKAGE_ROOT, folder), { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && /\.(?:md|ts|sql|hbs|yaml)$/u.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [path.slice(PACKAGE_ROOT.length + 1), readFileSync(path, 'utf8')]));
}

/** Anchors of the headings of a page, as GitHub makes them. */
function headingAnchors(markdown: string): readonly string[] {
  const headings = [...markdown.matchAll(/^#{1,6} (.+)$/gmu)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

const pages = readFolder('docs/services');
const anchors = new Set(
  [...pages].flatMap(([path, markdown]) => headingAnchors(markdown).map((anchor) => `${path}#${anchor}`)),
);

test.each(['src', 'docs', 'queries', 'reports'])('%s cites only sections of docs/services that exist', (folder) => {
  const missing = [...readFolder(folder)].flatMap(([path, text]) =>
    [...text.matchAll(/\bservices\/[\w-]+\.md#[\w-]+/gu)].flatMap(([cited]) =>
      anchors.has(`docs/${cited}`) ? [] : [`${path}: ${cited}`],
    ),
  );
  expect(missing).toEqual([]);
});

test('every operation cites a section of docs/services that exists', () => {
  const wrong = [...operations.values()].filter(({ docsUrl }) => !anchors.has(docsUrl));
  expect(wrong.map(({ name, docsUrl }) => `${name}: ${docsUrl}`)).toEqual([]);
});
