import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { operations } from '../../src/services/index.ts';
import { headingAnchors, inlineCode, PAGES, readPage } from '../helpers/documents.ts';

const anchors = new Map(PAGES.map((page) => [page, headingAnchors(readPage(page))]));

/** Why a place is none; undefined where it is one. */
function problemOf(path: string, anchor: string | undefined): string | undefined {
  if (!existsSync(join(PACKAGE_ROOT, path))) return `there is no ${path}`;
  if (anchor === undefined || anchors.get(path)?.has(anchor)) return undefined;
  return `${path} has no section #${anchor}`;
}

test.each(PAGES)('%s links to files and sections that exist', (page) => {
  const links = [...readPage(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/gu)];
  const problems = links.flatMap(([, path = '', anchor]) => {
    const target = path === '' ? page : normalize(join(dirname(page), path));
    return problemOf(target, anchor) ?? [];
  });
  expect(problems).toEqual([]);
});

/** A path of the repository without a placeholder, such as NAME, and without a pattern. */
const PATH = /^(?:src|sandbox|queries|reports|jobs|templates|bench|deploy|lint|scripts|test)\/(?!.*[A-Z]{4})[\w./-]+$/u;
/** What tests write. */
const WRITTEN = new Set(['test/screenshots']);
test.each(PAGES)('%s names only files and folders of the repository that there are', (page) => {
  const paths = inlineCode(readPage(page)).filter((code) => PATH.test(code) && !WRITTEN.has(code));
  expect(paths.filter((path) => !existsSync(join(PACKAGE_ROOT, path)))).toEqual([]);
});

/** Text files below a folder of the repository, by their path in it. */
function readFolder(folder: string): ReadonlyMap<string, string> {
  const entries = readdirSync(join(PACKAGE_ROOT, folder), { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && /\.(?:md|ts|js|sql|hbs|yaml|service|hcl)$/u.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [path.slice(PACKAGE_ROOT.length + 1), readFileSync(path, 'utf8')]));
}

test.each(['src', 'sandbox', 'queries', 'reports', 'jobs', 'templates', 'bench', 'deploy', 'scripts', 'test'])(
  '%s cites only pages and sections that exist',
  (folder) => {
    const problems = [...readFolder(folder)].flatMap(([file, text]) =>
      [...text.matchAll(/\b(docs\/[\w/-]+\.md)(?:#([\w-]+))?/gu)].flatMap(([, page = '', anchor]) => {
        const problem = problemOf(page, anchor);
        return problem === undefined ? [] : [`${file}: ${problem}`];
      }),
    );
    expect(problems).toEqual([]);
  },
);

test('every operation cites a section of docs/services that exists', () => {
  const wrong = [...operations.values()].filter(({ docsUrl }) => problemOf(...splitUrl(docsUrl)) !== undefined);
  expect(wrong.map(({ name, docsUrl }) => `${name}: ${docsUrl}`)).toEqual([]);
});

function splitUrl(url: string): readonly [page: string, anchor: string] {
  const [page = '', anchor = ''] = url.split('#');
  return [page, anchor];
}
