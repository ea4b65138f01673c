import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/**
 * Who reads each column of each table: `node test/columns.js [--unread]`. A column without a reader needs a reason in
 * `columns.yaml`.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** What shows or judges rows. Pages of rows and of subjects, SQL of a user and the changes show every column: they are no readers. */
const READERS = [
  'queries/deadlines',
  'queries/findings',
  'queries/fleet',
  'queries/mail',
  'queries/metrics',
  'queries/remediation',
  'queries/reports',
  'queries/saved',
  'queries/status',
  'queries/subjects',
  'queries/warehouse',
  'src/act/playbooks',
];
/** Columns of every history. */
const COMMON = new Set(['target', 'extra', 'ordinal', 'valid_from', 'valid_to']);
const COLUMN = /^ {2}(\w+) [^-]*?,? -- .+$/gmu;

const read = (path) => readFileSync(join(ROOT, path), 'utf8');
const words = (text) => new Set(text.match(/\w+/gu));
const withoutComments = (sql) => sql.replaceAll(/(?:^|\s)--\s.*$/gmu, '');
/** To assign a column is not to read it. */
const withoutAssignments = (sql) => sql.replaceAll(/^(update \w+\s)set [^;]*?^where$/gmu, '$1where');

function listFiles(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:sql|ts)$/u.test(name))
    .map((name) => relative(ROOT, join(ROOT, folder, name)).replaceAll('\\', '/'))
    .sort();
}

const MADE = /create or replace (?:view|macro) (\w+)/giu;
/** A relation in SQL, or the table that a playbook acts on. */
const READ = /(?:\b(?:from|join)\s+\(?(?:from\s+)?(?:stored_versions_at\(')?|\btable: ')(\w+)/giu;
const captures = (text, pattern) => [...text.matchAll(pattern)].map(([, name]) => name);

/** The words of a file, what it reads, and the views that it makes, which stand for the tables that they read. */
function readReader(path) {
  const text = path.endsWith('.sql') ? withoutAssignments(withoutComments(read(path))) : read(path);
  return { path, words: words(text), made: captures(text, MADE), relations: captures(text, READ) };
}

/** Names under which a table is read: its own, its history, and every view over one of these. */
function namesOf(table, readers) {
  const names = new Set([table, `${table}_history`, `${table}_at`]);
  for (let size = 0; size < names.size; ) {
    size = names.size;
    for (const reader of readers) {
      if (reader.relations.some((name) => names.has(name))) for (const name of reader.made) names.add(name);
    }
  }
  return names;
}

export function readMatrix() {
  const readers = READERS.flatMap(listFiles).map(readReader);
  return listFiles('queries/tables').flatMap((path) => {
    const ddl = read(path);
    const table = path.slice('queries/tables/'.length, -'.sql'.length);
    // The header names what the load and the changes read: the key, the name, the place.
    const header = { path, words: words(ddl.slice(0, ddl.indexOf('create table')).replace(/^-- grain:.*$/mu, '')) };
    const names = namesOf(table, readers);
    const own = readers.filter(({ relations }) => relations.some((name) => names.has(name)));
    return [...ddl.matchAll(COLUMN)].flatMap(([, column]) => {
      if (COMMON.has(column)) return [];
      const found = [header, ...own].filter((reader) => reader.words.has(column));
      return [{ table, column, readers: found.map((reader) => reader.path) }];
    });
  });
}

export const readReasons = () => parse(read('test/columns.yaml')) ?? {};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const matrix = readMatrix();
  const unread = matrix.filter(({ readers }) => readers.length === 0);
  for (const { table, column, readers } of process.argv.includes('--unread') ? unread : matrix) {
    console.log(`${table}.${column}  ${readers.join(' ') || '-'}`);
  }
  console.log(`${matrix.length} columns, ${unread.length} without a reader`);
}
