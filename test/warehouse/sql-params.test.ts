import { afterAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/warehouse/database.ts';
import { fillParams, isTerminated, toJsonParam } from '../../src/warehouse/sql-params.ts';

const database = await openDatabase(':memory:');
afterAll(() => database.close());

const HOSTILE = [`'; drop table t; --`, `''`, `"`, '$other', '\\', 'a\nb', '/*', '--', 'π😀', ''];

test.each(HOSTILE)('%j arrives as it is, alone and in a list', async (text) => {
  const sql = fillParams('select $text as text, $list as list', { text, list: [text, 'x'] });
  expect(await database.script(sql)).toEqual([{ text, list: [text, 'x'] }]);
});

test('a half of a character in JSON is replaced, since DuckDB refuses it', async () => {
  const rows = [{ text: 'cut \ud83d', '\ude00': '😀', path: 'C:\\ud83d' }];
  const sql = fillParams('select $rows::json as rows', { rows: toJsonParam(rows) });
  expect(await database.script(sql)).toEqual([{ rows: [{ text: 'cut \ufffd', '\ufffd': '😀', path: 'C:\\ud83d' }] }]);
});

test('values have the types of bound values', async () => {
  const params = { whole: 30_000, part: 1.5, big: 2n ** 60n, yes: true, none: null, empty: [] };
  const sql =
    'select $whole * 86400 as whole, $part as part, $big as big, $yes as yes, $none::varchar as none, $empty as empty';
  expect(await database.script(fillParams(sql, params))).toEqual([
    { whole: 2_592_000_000, part: 1.5, big: 2n ** 60n, yes: true, none: null, empty: [] },
  ]);
});

test.each([
  ["select $$a $b 'c$$ as text, $e as e", "a $b 'c"],
  ['select $tag$a $$ $b$tag$ as text, $e as e', 'a $$ $b'],
  ["select e'it\\'s $b' as text, $e as e", "it's $b"],
  ["select E'\\\\' as text, $e as e", '\\'],
])('%s: a text in another form of quotes is left as it is', async (sql, text) => {
  expect(await database.script(fillParams(sql, { e: 'x' }))).toEqual([{ text, e: 'x' }]);
});

test('a dollar sign in a text, a name or a comment begins no parameter', async () => {
  const sql = `select '$a it''s' as text, /* $b */ 1 as "$c" -- $d isn't one\n, $e as e`;
  expect(await database.script(fillParams(sql, { e: 'x' }))).toEqual([{ text: "$a it's", $c: 1, e: 'x' }]);
});

test('a parameter without a value and a text with a zero byte are errors', () => {
  expect(() => fillParams('select $name', {})).toThrow('the query uses $name, which has no value');
  expect(() => fillParams('select $name', { name: 'a\0b' })).toThrow('zero byte');
});

test('a statement may end with semicolons and comments, and a second one is an error', async () => {
  expect(await database.script(fillParams("select ';' as text; -- a; b\n;", {}))).toEqual([{ text: ';' }]);
  expect(() => fillParams('select 1; select 2', {})).toThrow('expected one statement');
});

test('the spaces of a long text are read once', () => {
  const text = `${' '.repeat(200_000)}x`;
  const start = performance.now();
  expect(fillParams('select $text as text ;\n;', { text })).toBe(`select '${text}' as text;`);
  expect(performance.now() - start).toBeLessThan(2_000);
});

test('a statement has ended at a semicolon outside texts, names and comments, as DuckDB reads them', async () => {
  const withBackslash = `select 'a\\' like'a\\' as text;`; // the `e` of a word begins no text with escapes
  expect(await database.script(withBackslash)).toEqual([{ text: true }]);
  const ended = [
    'select 1;',
    'select 1; -- a;b',
    'select 1; /* ;',
    'select 1 /* ; */ ;\n',
    `select ';';`,
    'select $$;$$;',
    `select e'\\';';`,
  ];
  for (const sql of [...ended, withBackslash]) expect(isTerminated(sql), sql).toBe(true);
  const open = ['', 'select 1', `select ';`, 'select ";', 'select $$;', 'select 1 -- ;', `select e'\\';`, '; x'];
  for (const sql of open) expect(isTerminated(sql), sql).toBe(false);
});
