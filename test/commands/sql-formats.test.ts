import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { strFromU8, unzipSync } from 'fflate';
import { beforeAll, describe, expect, test } from 'vitest';
import type { TestProject } from '../helpers/test-project.ts';
import { ROOT, shareSqlProject } from './sql-project.ts';

const project = shareSqlProject();
let place: TestProject;
const sql = (...words: string[]) => place.tidemark(['sql', ...words]);
beforeAll(async () => {
  place = await project();
});

/** Texts with a meaning in one of the formats, in columns of several types whose names have one too. */
const HOSTILE = `
  select v as "a,b", ' ' || v as "q""x", 1 as " #h", true as t, [v, 'x'] as l, {'a': v} as s, date '2026-01-01' + i::int as day,
    timestamp '2026-01-01 00:00:00.5' + to_seconds(i) as at, i / 7 as f, case i when 3 then 'nan'::double when 4 then '-inf' end as n,
    '\\x00\\x01'::blob as b, null as "new\nline"
  from (
    select unnest(['', null, 'a', ',', '"', 'a"b', e'x\\ny', e'x\\ry', '#c', 'a#b', '''', ' lead', 'trail ', e'\\t', 'NULL', '=1+1', 'é', '測試',
      e'\\x01', '\\', ';', '|', '0', 'true', e'\\x1e', e'\\x1f', e'a\\x1fb', e'\\r', e'\\n', '<b>&amp;</b>', e'\\x1b[31m']) as v,
      unnest(range(31)) as i
  )`;

describe('formats', () => {
  test('table: aligned, cells of several lines as written, with a count', async () => {
    const { exit, stdout } = await sql(...ROOT);
    expect(exit).toBe(0);
    expect(stdout).toBe(
      [
        'name              serial_number  not_before            active  extra',
        'a "b" |c|  18446744073709551615  2026-09-05T23:15:00Z  true',
        '<d>, é',
        '(1 row)',
        '',
      ].join('\n'),
    );
  });

  test('line: one line for each column', async () => {
    const { stdout } = await sql(`select 1 as n, 'x' as name union all select 2, null order by n`, '--format', 'line');
    expect(stdout).toBe('   n = 1\nname = x\n\n   n = 2\nname = \n');
  });

  test('line and table: no text of the data moves to another cell or controls a terminal', async () => {
    for (const format of ['line', 'table']) {
      const { exit, stdout } = await sql(HOSTILE, '--format', format);
      expect(exit).toBe(0);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the test is about them
      expect(stdout).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f]/u);
      expect(stdout).toContain('ab'); // of e'a\x1fb'
    }
    const { stdout } = await sql(HOSTILE, '--format', 'line');
    expect(stdout.match(/^ +q"x = /gmu)).toHaveLength(31);
  });

  test('times before the year 1 and after all years', async () => {
    const times = `values (timestamp '0044-03-15 (BC) 10:00:00.5'), ('0001-01-01'), ('12026-01-01 00:00:00.120'), ('infinity'), ('-infinity'), (null)`;
    for (const type of ['timestamp', 'timestamptz', 'timestamp_ms']) {
      const { stdout } = await sql(`select t::${type} as t from (${times}) v(t)`, '--format', 'csv');
      expect(stdout.split('\n')).toEqual([
        't',
        '-43-03-15T10:00:00.5Z',
        '0001-01-01T00:00:00Z',
        '12026-01-01T00:00:00.12Z',
        'infinity',
        '-infinity',
        '',
        '',
      ]);
    }
  });

  test('times of every precision', async () => {
    const time = '2026-01-02 03:04:05';
    const query = `select '${time}'::timestamp_s as s, '${time}.5'::timestamp_ms as ms, [{'at': '${time}.123456789'::timestamp_ns}] as ns, null::timestamp_ns as n`;
    const [row] = (await sql(query, '--json')).json<Record<string, unknown>[]>();
    const iso = (fraction = '') => `2026-01-02T03:04:05${fraction}Z`;
    expect(row).toEqual({ s: iso(), ms: iso('.5'), ns: [{ at: iso('.123456789') }], n: null });
  });

  test('explain prints the plan as DuckDB draws it', async () => {
    const { stdout } = await sql('explain select 42 as answer');
    expect(stdout).toMatch(/^┌─+┐\n│/u);
    expect(stdout).not.toContain('EXPLAIN_KEY');
  });

  test('csv: quoted where necessary, empty for null', async () => {
    expect((await sql(...ROOT, '--format', 'csv')).stdout).toBe(
      'name,serial_number,not_before,active,extra\n"a ""b"" |c|\n<d>, é",18446744073709551615,2026-09-05T23:15:00Z,true,\n',
    );
  });

  test('json and ndjson: with every digit', async () => {
    const row = `"serial_number":18446744073709551615`;
    const json = await sql(...ROOT, '--format', 'json');
    expect(json.stdout).toContain(row);
    expect(JSON.parse(json.stdout)).toMatchObject([{ name: 'a "b" |c|\n<d>, é', active: true, extra: null }]);
    expect((await place.tidemark(['--json', 'sql', ...ROOT])).stdout).toBe(json.stdout);
    const ndjson = await sql(...ROOT, '--format', 'ndjson');
    expect(ndjson.stdout.split('\n').length).toBe(2);
    expect(ndjson.stdout).toContain(row);
  });

  test('json and ndjson: a number that is none is null, also within a list, a struct, a map or a union', async () => {
    const query = `select 'nan'::double as n, '-inf'::float as f, ['inf'::double, 1] as l, {'a': 'nan'::double, 'b': [2]} as s,
      map {'a': 'nan'::double, 'b': 1} as m, union_value(k := '-inf'::double) as u, row(1, 'inf'::double, 'x') as r,
      [map {timestamp '2026-01-01': [null, 'nan'::double]}] as deep, null::struct(a double) as z, map {1: {'t': timestamp '2026-01-01'}} as t`;
    const row = {
      ...{ n: null, f: null, l: [null, 1], s: { a: null, b: [2] }, m: { a: null, b: 1 }, u: { k: null } },
      ...{ r: [1, null, 'x'], deep: [{ '2026-01-01 00:00:00': [null, null] }], z: null },
      t: { 1: { t: '2026-01-01T00:00:00Z' } },
    };
    expect(JSON.parse((await sql(query, '--format', 'json')).stdout)).toEqual([row]);
    expect(JSON.parse((await sql(query, '--format', 'ndjson')).stdout)).toEqual(row);
  });

  test('markdown: with escaped cells', async () => {
    expect((await sql(...ROOT, '--format', 'markdown')).stdout).toBe(
      '| name | serial_number | not_before | active | extra |\n| --- | --- | --- | --- | --- |\n| a "b" \\|c\\|<br>&lt;d>, é | 18446744073709551615 | 2026-09-05T23:15:00Z | true |  |\n',
    );
  });

  test('markdown: no text is markup', async () => {
    const query = `select '[x](javascript:y) ![i](//e/i)' as a, '*b* ~~s~~ \`c\` my_name' as b, '<b>&lt;' as c`;
    expect((await sql(query, '--format', 'markdown')).stdout.split('\n')[2]).toBe(
      String.raw`| \[x](javascript:y) !\[i](//e/i) | \*b\* \~\~s\~\~ \`c\` my_name | &lt;b>&amp;lt; |`,
    );
  });

  test('a header of hundreds of columns takes no more memory than its row', async () => {
    const columns = Array.from({ length: 300 }, (_, index) => `'x' as c${index}`);
    const { exit, stdout } = await sql(`select ${columns.join(', ')}`, '--format', 'csv');
    expect([exit, stdout.split('\n')[0]?.split(',').length]).toEqual([0, 300]);
  });

  test('names with quotes stay names: of a column in parquet, of a field in JSON', async () => {
    const query = `select 1 as "q""x, 2", {'a"b': timestamp '2026-01-01'} as s`;
    const json = await sql(query, '--format', 'json');
    expect([json.exit, JSON.parse(json.stdout)]).toEqual([0, [{ 'q"x, 2': 1, s: { 'a"b': '2026-01-01T00:00:00Z' } }]]);
    expect((await sql(query, '-o', 'quoted.parquet')).exit).toBe(0);
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const file = join(place.folder, 'quoted.parquet');
    const reader = await connection.runAndReadAll(`from read_parquet('${file}')`);
    connection.closeSync();
    expect(reader.columnNames()).toEqual(['q"x, 2', 's']);
  });

  test('parquet: only into a file', async () => {
    const file = join(place.folder, 'out put.parquet');
    expect((await sql(...ROOT, '--format', 'parquet')).exit).toBe(2);
    const { exit, stdout } = await sql(...ROOT, '--format', 'parquet', '-o', 'out put.parquet');
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: '' });
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const reader = await connection.runAndReadAll(`select name, serial_number from '${file}'`);
    expect(reader.getRowObjects()).toEqual([{ name: 'a "b" |c|\n<d>, é', serial_number: 2n ** 64n - 1n }]);
    connection.closeSync();
  });

  test('any other format into a file, and nothing on stdout', async () => {
    const { stdout } = await sql('select 1 as one', '--format', 'csv', '-o', 'one.csv');
    expect(stdout).toBe('');
    expect(await readFile(join(place.folder, 'one.csv'), 'utf8')).toBe('one\n1\n');
  });

  test('a file has the format of its extension, and the same text as stdout', async () => {
    const nothing = 'select 1 as a, null as b where false';
    for (const [extension, format, query] of [
      ['csv', 'csv', HOSTILE],
      ['json', 'json', HOSTILE],
      ['ndjson', 'ndjson', HOSTILE],
      ['md', 'markdown', HOSTILE],
      ['txt', 'table', HOSTILE],
      ['csv', 'csv', nothing],
      ['json', 'json', nothing],
      ['md', 'markdown', nothing],
    ] as const) {
      const [{ exit, stderr }, { stdout }] = await Promise.all([
        sql(query, '-o', `x.${extension}`),
        sql(query, '--format', format),
      ]);
      expect({ exit, stderr }).toMatchObject({ exit: 0, stderr: expect.stringMatching(/^wrote \d+ rows? to/u) });
      expect(await readFile(join(place.folder, `x.${extension}`), 'utf8')).toBe(stdout);
    }
    expect(await sql('select 1', '-o', 'x.doc')).toMatchObject({ exit: 2, stderr: expect.stringContaining('x.doc') });
  });

  test('xlsx: numbers are numbers, but for those of which Excel loses digits, and no text is a formula', async () => {
    const query = `select 123456789012345 as n, -1234567890123456789 as id, 0.1::double + 0.2 as f, '=1+1 & <b>' as text, null as none`;
    const { exit } = await sql(query, '-o', 'x.xlsx');
    expect(exit).toBe(0);
    const parts = unzipSync(await readFile(join(place.folder, 'x.xlsx')));
    const sheet = strFromU8(parts['xl/worksheets/sheet1.xml']!);
    expect(sheet).toContain('<c><v>123456789012345</v></c>');
    expect(sheet).toContain('<t xml:space="preserve">-1234567890123456789</t>');
    expect(sheet).toContain('<c><v>0.30000000000000004</v></c>');
    expect(sheet).toContain('<c t="inlineStr"><is><t xml:space="preserve">=1+1 &amp; &lt;b&gt;</t></is></c><c/>');
    expect(sheet).not.toContain('<f>');
  });

  test('xlsx: what XML and Excel forbid is left out, null is an empty cell, and no number is not finite', async () => {
    const query = `select e'a\\x01\\x1e\\x1fb' as a, e'\\x1e' as marker, '' as empty, 'inf'::double as d, e'_x0041_ _x\\r\\n' || chr(65535) as escape, repeat('é', 40000) as long, repeat('🂡', 20000) as cut`;
    expect((await sql(query, '-o', 'x.xlsx')).exit).toBe(0);
    const sheet = strFromU8(unzipSync(await readFile(join(place.folder, 'x.xlsx')))['xl/worksheets/sheet1.xml']!);
    const texts = [...sheet.matchAll(/<t xml:space="preserve">([^<]*)<\/t>/gu)].map(([, text]) => text);
    expect(texts.slice(7)).toEqual([
      'ab',
      '',
      '',
      'inf',
      '_x005F_x0041_ _x_x000D_\n',
      'é'.repeat(32_767),
      '🂡'.repeat(16_383),
    ]);
  });

  test('xlsx: more rows than a sheet holds end in one line, and leave no file', async () => {
    const { exit, stderr } = await sql('select 1 as n from range(1048576)', '-o', 'large.xlsx');
    expect({ exit, stderr }).toEqual({
      exit: 4,
      stderr: expect.stringMatching(
        /^error: the result is larger than a sheet of Excel: 1,048,575 rows below the header\n +[^\n]*\.csv or \.parquet\n$/u,
      ),
    });
    expect(existsSync(join(place.folder, 'large.xlsx'))).toBe(false);
    expect((await readdir(place.folder)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test('never into the data folder: the ledger and the warehouse are there', async () => {
    const warehouse = join(place.folder, 'data', 'warehouse.duckdb');
    const before = await readFile(warehouse);
    await mkdir(join(place.folder, 'data', '..own'));
    for (const file of [
      'data/warehouse.duckdb',
      'data/landing/x.csv',
      'data/..own/x.csv',
      `${place.folder}/./data/x.csv`,
    ]) {
      const { exit, stderr } = await sql('select 1', '--format', 'csv', '-o', file);
      expect([exit, stderr]).toEqual([2, expect.stringContaining('is in the data folder')]);
    }
    const others = [
      ['export', '--out', 'data'],
      ['playbook', 'plan', 'drop-dead-views', '-o', 'data/ledger.ndjson'],
      ['show', 'leaf-certificate/web', '--html', 'data/warehouse.duckdb'],
      ['mail', 'nightly', '--dry-run', '--html', 'data/warehouse.duckdb'],
    ];
    for (const words of others) {
      const { exit, stderr } = await place.tidemark(words);
      expect([exit, stderr]).toEqual([2, expect.stringContaining('is in the data folder')]);
    }
    expect(before.equals(await readFile(warehouse))).toBe(true);
  });

  test('never through a link, and an error leaves the file as it was', async () => {
    await writeFile(join(place.folder, 'kept.csv'), 'kept');
    await symlink(join(place.folder, 'kept.csv'), join(place.folder, 'link.csv'));
    expect(await sql('select 1', '-o', 'link.csv')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('is a link'),
    });
    expect((await sql(`select error('no') from range(10)`, '-o', 'kept.csv')).exit).toBe(4);
    expect(await readFile(join(place.folder, 'kept.csv'), 'utf8')).toBe('kept');
    expect((await readdir(place.folder)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });
});

describe('on a terminal', () => {
  const screen = { columns: 60, rows: 24 };
  const terminal = (...words: string[]) =>
    place.tidemark(['sql', ...words], { screen, env: { PAGER: 'cat', NO_COLOR: '1' } });

  test('the first and last rows with the count, numbers right-aligned', async () => {
    const { stdout } = await terminal(`select i as n, 'w' || i as name from range(1000) t(i)`, '--max-rows', '4');
    expect(stdout).toBe('  n  name\n  0  w0\n  1  w1\n  ·  ·\n998  w998\n999  w999\n(1000 rows, 4 shown)\n');
  });

  test('the ends of a result of many chunks, and every row with --max-rows 0', async () => {
    const query = 'select i as n from range(20000) t(i)';
    const { stdout } = await terminal(query, '--max-rows', '3');
    expect(stdout).toBe('    n\n    0\n    1\n    ·\n19999\n(20000 rows, 3 shown)\n');
    const all = await terminal(query, '--max-rows', '0');
    expect(all.stdout.split('\n')).toHaveLength(20_003);
  });

  test('null differs from empty text', async () => {
    const { stdout } = await terminal(`select null as a, '' as b, 'x' as c`);
    expect(stdout).toBe('   a  b  c\nNULL     x\n(1 row)\n');
  });

  test('no text of the data controls the terminal, in any format', async () => {
    const query = `select 'a' || chr(27) || '[31m' || chr(155) || '2J' || chr(8238) || 'b' as x`;
    for (const format of ['csv', 'json', 'ndjson', 'markdown', 'line', 'table']) {
      const { stdout } = await terminal(query, '--format', format);
      expect(stdout, format).toContain('b');
      expect(stdout, format).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_C}/u);
    }
    const piped = await sql(query, '--format', 'csv');
    expect(piped.stdout).toContain('\u001b[31m\u009b2J\u202eb');
  });

  test('no text of the data controls the terminal from a message either', async () => {
    const { exit, stderr } = await terminal(`select ('a' || chr(27) || '[31m' || chr(8238) || 'b')::int`);
    expect([exit, stderr]).toEqual([4, expect.stringContaining('a[31mb')]);
    expect(stderr).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_C}/u);
  });

  test('a pager that ends before all is written ends the query, and is no failure', async () => {
    const query = `select repeat('x', 1000) as x from range(20000)`;
    for (const PAGER of ['exec <&-; sleep 1', 'sleep 0.2', 'head -n 1 > /dev/null']) {
      const options = { screen, env: { PAGER } };
      expect(await place.tidemark(['sql', '--format', 'csv', query], options)).toMatchObject({ exit: 0, stderr: '' });
    }
  });

  test('a pager that fails is an error: the result was not shown', async () => {
    for (const PAGER of ['no-such-pager', '/etc/passwd', 'cat > /dev/null; exit 3']) {
      const { exit, stderr } = await place.tidemark(['sql', '--format', 'csv', 'select 1'], {
        screen,
        env: { PAGER },
      });
      expect([exit, stderr]).toEqual([2, expect.stringContaining(`the pager ${PAGER} failed with exit code`)]);
    }
  });

  test('no line is wider than the screen: cells are cut, then columns are left out', async () => {
    const wide = Array.from({ length: 12 }, (_, index) => `repeat('é', ${index + 20}) as column_${index}`).join(', ');
    const { stdout } = await terminal(`select ${wide}`);
    for (const line of stdout.split('\n').slice(0, 2)) expect(line.length).toBeLessThanOrEqual(60);
    expect(stdout).toMatch(/of 12 columns shown; format line shows all/u);
    const { stdout: two } = await terminal(`select repeat('a', 100) as a, 'short' as b`);
    expect(two.split('\n')[1]).toMatch(/^a{50,}… {2}short$/u);
  });
});
