import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';

/** Imports point down this list; names of one line are siblings. */
const LAYERS: readonly (readonly string[])[] = [
  ['cli.ts'],
  ['commands'],
  ['scheduler'],
  ['pipeline', 'remediation'],
  ['mail'],
  ['sources', 'playbooks', 'warehouse', 'render'],
  ['services'],
  ['http'],
  ['version.ts'],
  ['core'],
];
/** May import only these of ours. */
const CONFINED: Readonly<Record<string, readonly string[]>> = {
  core: [],
  sandbox: ['core'],
  'index.ts': ['services', 'http', 'core'],
};
const SANDBOX_USERS = ['commands'];

const SRC = join(PACKAGE_ROOT, 'src');
const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.ts'))
  .sort();
const textOf = (path: string) => readFileSync(join(SRC, path), 'utf8');
const layerOf = (path: string) => path.split('/')[0] ?? path;
const withoutComments = (text: string) => text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gmu, '');

/** Our files that a file imports, as paths below src. */
function importedFiles(path: string): readonly string[] {
  const specifiers = [...textOf(path).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/gu)].map(([, name]) => name ?? '');
  return specifiers.map((name) => posix.normalize(posix.join(dirname(path), name)));
}

/** The other layers that a file imports from. */
function importedLayers(path: string): readonly string[] {
  return [...new Set(importedFiles(path).map(layerOf))].filter((layer) => layer !== layerOf(path));
}

const rankOf = (layer: string) => LAYERS.findIndex((names) => names.includes(layer));

describe.each(sources)('src/%s', (path) => {
  const layer = layerOf(path);

  test('imports only what stands below it', () => {
    for (const imported of importedLayers(path)) {
      const confined = CONFINED[layer];
      if (confined) expect(confined).toContain(imported);
      else if (imported === 'sandbox') expect(SANDBOX_USERS).toContain(layer);
      else expect(rankOf(imported), `${layer} imports ${imported}`).toBeGreaterThanOrEqual(rankOf(layer));
    }
  });

  test('is one screenful or a few: at most 250 lines, tables of operations excepted', () => {
    const tableOfOperations = /^services\/(platform|secrets|scheduler)\.ts$/u.test(path);
    expect(textOf(path).split('\n').length - 1).toBeLessThanOrEqual(tableOfOperations ? 300 : 250);
  });

  test('leaves the process to cli.ts', () => {
    if (path === 'cli.ts') return;
    expect(withoutComments(textOf(path))).not.toMatch(/\bprocess\.(?!ts\b)\w/u);
    // A lock must name its holder by number and ask whether another is alive: that is about processes, not about this one.
    if (path !== 'warehouse/process-mark.ts') expect(textOf(path)).not.toMatch(/from '(?:node:)?process'/u);
  });

  test('leaves SQL to queries/, but for set, begin, commit, rollback, checkpoint and copy', () => {
    const literal =
      /['`]\s*(?:select\s[^'`]*\sfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s|create\s+(?:or\s+replace\s+)?(?:temp\s+)?(?:table|view|macro|index|schema)\s|alter\s+table\s|drop\s+(?:table|view|macro)\s|merge\s+into\s|attach\s)/iu;
    expect(withoutComments(textOf(path))).not.toMatch(literal);
  });

  test('exports by name, without enums or namespaces', () => {
    const text = withoutComments(textOf(path));
    expect(text).not.toMatch(/^export default\b/mu);
    expect(text).not.toMatch(/^(?:export )?(?:const )?(?:enum \w|namespace \w+ \{)/mu);
    expect(text).not.toMatch(/\bas any\b|@ts-ignore|@ts-expect-error/u);
  });
});

test('every layer has its place in the table', () => {
  const known = new Set([...LAYERS.flat(), ...Object.keys(CONFINED)]);
  expect([...new Set(sources.map(layerOf))].filter((layer) => !known.has(layer))).toEqual([]);
});

/** Of those, the ones whose code must have run before: types are gone by then. */
function filesRunBefore(path: string): readonly string[] {
  const statements = [...textOf(path).matchAll(/^import\s+(type\s+)?([^;']*?)\s+from\s+'(\.[^']+)';/gmu)];
  return statements.flatMap(([, type, names = '', specifier = '']) => {
    const listed = names.replaceAll(/[{}\s]+/gu, ' ').split(',');
    const typesAlone = type !== undefined || listed.every((name) => /^\s*(?:type\s|$)/u.test(name));
    return typesAlone ? [] : [posix.normalize(posix.join(dirname(path), specifier))];
  });
}

test('no file waits for itself around a corner', () => {
  const importsOf = new Map(sources.map((path) => [path, filesRunBefore(path)]));
  const cycles: string[] = [];
  const visit = (path: string, way: readonly string[]) => {
    if (way.includes(path)) cycles.push([...way.slice(way.indexOf(path)), path].join(' → '));
    else if (!done.has(path)) for (const next of importsOf.get(path) ?? []) visit(next, [...way, path]);
    done.add(path);
  };
  const done = new Set<string>();
  for (const path of sources) visit(path, []);
  expect(cycles).toEqual([]);
});
