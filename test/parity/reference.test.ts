import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { builtInPlaybooks } from '../../src/act/playbooks/index.ts';
import { defineProgram } from '../../src/cli/index.ts';
import { LINK_KINDS } from '../../src/config/links.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { sources } from '../../src/extract/sources/index.ts';
import { operations } from '../../src/services/index.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables } from '../../src/warehouse/tables.ts';
import { codeBlocks, inlineCode, PAGES, readPage, tableRows } from '../helpers/documents.ts';

/** What the documents say of options, keys, variables, tables and numbers, compared with the program. */

const HISTORY = new Set(['CHANGELOG.md', 'docs/benchmarks.md']);
const pages = PAGES.filter((page) => !HISTORY.has(page));

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly default?: unknown;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** The keys of a schema by name, with their defaults; what is in `links` depends on the kind of a target. */
function listKeys({
  properties = {},
  items,
  anyOf = [],
}: Schema): readonly (readonly [name: string, fallback: unknown])[] {
  const own = Object.entries(properties).flatMap(([name, schema]) => [
    [name, schema.default] as const,
    ...(name === 'links' ? [] : listKeys(schema)),
  ]);
  return [...own, ...[...(items ? [items] : []), ...anyOf].flatMap(listKeys)];
}

const readSchema = (name: string) =>
  listKeys(JSON.parse(readFileSync(join(PACKAGE_ROOT, 'templates', name), 'utf8')) as Schema);

describe('configuration', () => {
  const template = readPage('templates/tidemark.yaml');
  const keys = readSchema('tidemark.schema.json');
  const shown = ['docs/configuration.md', 'docs/approvals.md', 'docs/mail-and-schedule.md']
    .flatMap((page) => [
      ...inlineCode(readPage(page)),
      ...codeBlocks(page).flatMap(({ language, text }) => (language === 'yaml' ? [text] : [])),
    ])
    .join('\n');

  test.each([
    ['tidemark.yaml', 'the template', keys, template],
    ['jobs', 'a page', readSchema('job.schema.json'), shown],
  ])('every key of %s is in %s', (_, _where, known, text) => {
    expect(known.length).toBeGreaterThan(8);
    expect(known.map(([name]) => name).filter((name) => !new RegExp(`\\b${name}\\b`, 'u').test(text))).toEqual([]);
  });

  test('the template has the default of a key on its line', () => {
    const defaults = keys.filter(([, fallback]) => ['string', 'number', 'boolean'].includes(typeof fallback));
    expect(defaults.length).toBeGreaterThan(30);
    const lines = template.split('\n');
    const shows = ([name, fallback]: readonly [string, unknown]) =>
      lines.some((line) => line.includes(`${name}:`) && line.includes(String(fallback)));
    expect(defaults.filter((key) => !shows(key))).toEqual([]);
  });

  test('docs/configuration.md names only keys that there are', () => {
    const named = tableRows('docs/configuration.md', '| Key | Page |').flatMap(([cell = '']) => inlineCode(cell));
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !keys.some(([known]) => known === name))).toEqual([]);
  });
});

test('docs/reports.md has the fields of links', () => {
  const listed = tableRows('docs/reports.md', '| Target | Subjects, each with the fields of its URL |').map(
    ([kind = '', subjects = '']) => [
      kind.replaceAll('`', ''),
      subjects.split('; ').flatMap((part) => {
        const [left = '', right = ''] = part.split(': ');
        return inlineCode(left).map((subject) => [subject, [...right.split(', ')].sort()]);
      }),
    ],
  );
  const declared = Object.entries(LINK_KINDS).map(([kind, subjects]) => [
    kind,
    Object.entries(subjects).map(([subject, { fields }]) => [subject, [...fields].sort()]),
  ]);
  const byName = (list: unknown[][]) => list.map(([kind, subjects]) => [kind, [...(subjects as unknown[][])].sort()]);
  expect(byName(listed)).toEqual(byName(declared));
});

/** Of the system, and of DuckDB before it starts. */
const SYSTEM = new Set(['HOME', 'PATH', 'TERM', 'DUCKDB_JE_MALLOC_CONF']);

test('docs/commands.md and docs/lake.md name the environment variables that the program reads', () => {
  const files = readdirSync(join(PACKAGE_ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const source = files.map((name) => readPage(join('src', name))).join('\n');
  const read = [...source.matchAll(/\benv\.([A-Z][A-Z0-9_]+)|variable: '([A-Z_]+)'/gu)].map(
    ([, one, two]) => one ?? two ?? '',
  );
  const named = [
    ...tableRows('docs/commands.md', '| Variable | Meaning |'),
    ...tableRows('docs/lake.md', '| Variable | Value |'),
  ].flatMap(([cell = '']) => inlineCode(cell).filter((name) => /^[A-Z][A-Z0-9_]+$/u.test(name)));
  expect([...new Set(read)].filter((name) => !SYSTEM.has(name) && !named.includes(name))).toEqual([]);
  expect(named.filter((name) => !source.includes(name))).toEqual([]);
});

test('docs/warehouse.md names only tables and views that there are', async () => {
  const files = createSqlFiles([PACKAGE_ROOT]);
  const tables = await loadTables(files);
  const views = readdirSync(join(PACKAGE_ROOT, 'queries'), { recursive: true, encoding: 'utf8' }).map((name) =>
    name.replace(/^.*\//u, '').replace(/\.sql$/u, ''),
  );
  const named = tableRows('docs/warehouse.md', '| Tables | Content |').flatMap(([cell = '']) => inlineCode(cell));
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !tables.has(name) && !views.includes(name))).toEqual([]);
});

describe('the command lines', async () => {
  const program = await defineProgram();
  const optionsOf = (command: Command) => command.options.flatMap(({ long, short }) => [long, short]);

  /** The command that the words name, and the options that may follow it. */
  function resolve(
    words: readonly string[],
  ): { readonly path: string; readonly known: readonly unknown[] } | undefined {
    let command: Command = program;
    const known: unknown[] = ['--help', '-h', ...optionsOf(program)];
    const path = ['tidemark'];
    for (const word of words.filter((each) => !each.startsWith('-'))) {
      const next = command.commands.find((each) => each.name() === word);
      if (next === undefined) break;
      path.push(word);
      known.push(...optionsOf(next));
      command = next;
    }
    return command === program ? undefined : { path: path.join(' '), known };
  }

  const lines = pages.flatMap((page) => [
    ...codeBlocks(page)
      .filter(({ language, text }) => language === 'sh' || text.startsWith('$ '))
      .flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n')),
    ...inlineCode(readPage(page)),
  ]);
  /** Without comments, texts in quotes, and what another program does with the output. */
  const calls = lines
    .flatMap((line) => line.replaceAll(/"[^"]*"|'[^']*'|\s#.*$/gu, ' ').split(/\s(?:&&|\||>|<)\s/u))
    .flatMap((line) => /^(?:\$ )?tidemark ([a-z].*)$/u.exec(line.trim())?.[1] ?? []);

  test('name commands that there are', () => {
    expect(calls.length).toBeGreaterThan(80);
    expect(calls.filter((call) => resolve(call.split(/\s+/u)) === undefined)).toEqual([]);
  });

  test('give options that the commands have', () => {
    const wrong = calls.flatMap((call) => {
      const words = call.split(/[\s[\]|]+/u);
      const { path = '', known = [] } = resolve(words) ?? {};
      const given = words.flatMap((word) => /^(--?[a-z][a-z-]*)/u.exec(word)?.[1] ?? []);
      return given.filter((option) => !known.includes(option)).map((option) => `${path} ${option}`);
    });
    expect(wrong).toEqual([]);
  });
});

test.each([
  ['operations', operations.size],
  ['playbooks', builtInPlaybooks.length],
  ['sources', sources.length],
  ['rules', readdirSync(join(PACKAGE_ROOT, 'queries/findings')).length],
])('a number of all %s is right', (noun, count) => {
  const said = pages.flatMap((page) =>
    [...readPage(page).matchAll(new RegExp(`(?:\\ball|\\bthe) (\\d+) ${noun}\\b`, 'gu'))].map(([, number]) =>
      Number(number),
    ),
  );
  expect(said.filter((number) => number !== count)).toEqual([]);
});

describe('the glossary', () => {
  const GLOSSARY = 'docs/glossary.md';
  const terms = [...readPage(GLOSSARY).matchAll(/^\*\*([^*]+)\*\*: /gmu)].flatMap(([, names = '']) =>
    names.replaceAll('`', '').split(', '),
  );
  const prose = pages
    .filter((page) => page !== GLOSSARY)
    .map(readPage)
    .join('\n')
    .toLowerCase();

  test('is in order', () => {
    expect(terms.length).toBeGreaterThan(20);
    const heads = terms.filter((term) => term !== 'apply').map((term) => term.replace('_', ''));
    expect(heads).toEqual([...heads].sort());
  });

  test('has only terms that the documents use', () => {
    expect(terms.filter((term) => !new RegExp(`\\b${term}`, 'u').test(prose))).toEqual([]);
  });
});

test('the examples of docs/library.md are the files of a project that is compiled and run', () => {
  const project = 'test/system/consumer/project';
  const files = readdirSync(join(PACKAGE_ROOT, project), { recursive: true, encoding: 'utf8' });
  for (const { language, text } of codeBlocks('docs/library.md')) {
    if (language !== 'ts' && language !== 'sql') continue;
    const [, name = '', code = ''] = /^(?:\/\/|--) (\S+)\n([\s\S]*)$/u.exec(text) ?? [];
    const file = files.find((path) => path.endsWith(name));
    expect(file, name).toBeDefined();
    expect(code, name).toBe(readPage(join(project, file ?? '')));
  }
});
