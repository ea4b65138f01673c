import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import type { Response } from '../../sandbox/types.ts';
import type { RunResult } from '../../src/run/run.ts';
import { EXPLORER_FIELDS } from '../../src/services/platform/explorer.ts';
import { byKey, expectTable } from '../helpers/expect-table.ts';
import { expectedTables } from '../helpers/expected/index.ts';
import { unpackLandings } from '../helpers/landings.ts';
import { share } from '../helpers/temp.ts';
import { findTarget, type TestProject, testProject } from '../helpers/test-project.ts';

const TF_VERSIONS = ['--source', 'tf_versions'];
const TEXT_CSV = { 'content-type': 'text/csv; charset=utf-8' };

interface Damage {
  /** The replacement of the CSV export. */
  readonly csv?: (rows: readonly string[]) => string | Response;
  /** Rejects JSON pages, so that no fallback is left. */
  readonly onlyCsv?: boolean;
}

/** A platform with a damaged export of `tf_versions`, which has the columns `version,workspace_count,workspaces`. */
async function damaged({ csv, onlyCsv = false }: Damage): Promise<TestProject> {
  let place: TestProject;
  const faultHook: FaultHook = ({ path, query }, service) => {
    if (!path.includes('/explorer') || query.get('type') !== 'tf_versions') return undefined;
    if (path.endsWith('/export/csv') && csv) {
      const answer = csv(exportLines(place));
      return typeof answer === 'string' ? { status: 200, headers: TEXT_CSV, body: answer } : answer;
    }
    const pages = query.get('page[size]') !== '1';
    return onlyCsv && pages ? service.error(422, 'no pages today') : undefined;
  };
  place = await testProject({ workspaces: 30, faultHook });
  return place;
}

/** The lines of the undamaged export, header first. */
function exportLines({ sandbox }: TestProject): readonly string[] {
  const rows = expectedTables(sandbox, 'spec').tf_versions ?? [];
  const line = ({ version, workspace_count, workspaces }: Readonly<Record<string, unknown>>) =>
    [version, workspace_count, workspaces].map((cell) => `"${String(cell).replaceAll('"', '""')}"`).join(',');
  return ['version,workspace_count,workspaces', ...rows.map(line)];
}

const text = (lines: readonly string[]) => `${lines.join('\n')}\n`;

async function failure(place: TestProject): Promise<string> {
  const result = await place.pull(TF_VERSIONS, 3);
  const { pulls } = result.json<RunResult>();
  expect(pulls.map(({ status }) => status)).toEqual(['failed']);
  return String(pulls[0]?.error);
}

const REJECTED: readonly (readonly [string, (lines: readonly string[]) => string, RegExp])[] = [
  [
    'whose header lacks the key',
    (lines) => text(lines.map((line) => line.slice(line.indexOf(',') + 1))),
    /no column version/,
  ],
  ['that names a column twice', (lines) => text([`version,${lines[0]}`]), /has the column version twice/],
  ['with a row without its key', (lines) => text([...lines.slice(0, -1), '"","1","a"']), /without version/],
  ['with a repeated key', (lines) => text([...lines.slice(0, -1), lines[1]!]), /2 rows have the key/],
  [
    'with a count that is not a number',
    (lines) => text([...lines.slice(0, -1), '"9.9.9","many","a"']),
    /line \d+ of the CSV is invalid: Error when converting column "workspace_count"/,
  ],
  [
    'with a long text that is not a number',
    (lines) => text([...lines.slice(0, -1), `"9.9.9","${'many '.repeat(10_000)}","a"`]),
    /tf_versions: .{50,400}…/u,
  ],
  [
    'with a long key that is repeated',
    (lines) => text([...lines.slice(0, -2), ...[1, 1].map((count) => `"${'9.'.repeat(10_000)}","${count}","a"`)]),
    /2 rows have the key version ".{200,320}…/u,
  ],
  [
    'with a row too short',
    (lines) => text([...lines.slice(0, -1), '"9.9.9"']),
    /line \d+ of the CSV is invalid: Expected Number of Columns: 3 Found: 1/,
  ],
  ['with a quote that never closes', (lines) => text([...lines, '"9.9.9","1","a']), /is invalid/],
  [
    'with fewer rows than the service reports',
    (lines) => text(lines.slice(0, -2)),
    /got \d+ rows, but the service reports \d+/,
  ],
  ['that ends within a row', (lines) => text(lines).slice(0, -20), /is invalid|got \d+ rows/],
  [
    'that ends within its last value',
    (lines) => text(lines.map((line) => line.replace(/^([^,]*),"?(\w+)"?,(.*)$/u, '$1,$3,$2'))).trimEnd(),
    /the last line of the CSV is invalid: its last value may be cut off/,
  ],
  ['of a header alone', (lines) => text(lines.slice(0, 1)), /got 0 rows, but the service reports/],
];

const targetName = (what: string) => what.replaceAll(' ', '-');

/** One pull of a target for each export of `REJECTED`, which they tell apart by their tokens. */
const rejected = share(async (cleanup) => {
  const exports = new Map<string, (lines: readonly string[]) => string>();
  const faultHook: FaultHook = ({ path, query, headers }) => {
    const csv = exports.get(headers.authorization ?? '');
    if (!path.endsWith('/export/csv') || query.get('type') !== 'tf_versions' || !csv) return undefined;
    return { status: 200, headers: TEXT_CSV, body: csv(exportLines(place)) };
  };
  const place: TestProject = await testProject({ workspaces: 30, faultHook, cleanup });
  await place.configure((config) => {
    const acme = findTarget(config, 'acme');
    config.targets = REJECTED.map(([what, csv]) => {
      const token = place.sandbox.createToken('platform', { isManagement: true });
      exports.set(`Bearer ${token}`, csv);
      return { ...acme, name: targetName(what), token };
    });
  });
  const { stderr } = await place.pull(TF_VERSIONS);
  await unpackLandings(place.folder);
  const [run] = await readdir(join(place.folder, 'data', 'landing'));
  return { place, stderr, landing: join(place.folder, 'data', 'landing', run!) };
});

describe('a CSV export', () => {
  test('loads by its own header, whatever the order of the columns', async () => {
    const place = await damaged({
      onlyCsv: true,
      csv: (lines) =>
        text([
          'workspaces,version,workspace_count',
          ...lines.slice(1).map((line) => {
            const [, version, count, workspaces] = /^("[^"]*"),("[^"]*"),(.*)$/u.exec(line) ?? [];
            return `${workspaces},${version},${count}`;
          }),
        ]),
    });
    await place.pull(TF_VERSIONS);
    await expectTable(place, 'tf_versions', 'spec');
  });

  test('keeps an unknown column in `extra`, without secrets, and reads a missing one that is expected as null', async () => {
    const place = await damaged({
      onlyCsv: true,
      csv: (lines) =>
        text([
          'version,"new ""column""",password,empty',
          ...lines.slice(1).map((line, index) => `${line.split(',')[0]},"value ${index}","hunter2-${index}",""`),
        ]),
    });
    await place.configure(({ targets }) =>
      Object.assign(targets[0] ?? {}, { missingColumns: ['workspace_count', 'workspaces'] }),
    );
    await place.pull(TF_VERSIONS);
    const rows = await place.rows('select version, workspace_count, workspaces, extra from tf_versions');
    const versions = (expectedTables(place.sandbox, 'spec').tf_versions ?? []).map(({ version }, index) => ({
      version,
      workspace_count: null,
      workspaces: null,
      extra: { 'new "column"': `value ${index}` },
    }));
    expect(byKey('tf_versions', rows)).toEqual(byKey('tf_versions', versions));
    const landing = join(place.folder, 'data', 'landing');
    await unpackLandings(place.folder);
    for (const name of await readdir(landing, { recursive: true })) {
      if (/\.(?:csv|json)$/u.test(name)) {
        expect(await readFile(join(landing, name), 'utf8')).not.toMatch(/hunter2|password/u);
      }
    }
    const [run] = await readdir(landing);
    await place.pull([...TF_VERSIONS, '--from', String(run)]); // the landing matches its manifest
  });

  test('with a time in an undocumented column is the same as JSON pages, whose times have fractions', async () => {
    let isTooLarge = false;
    const place: TestProject = await testProject({
      workspaces: 30,
      faultHook: ({ path, query }, service) => {
        if (query.get('type') !== 'tf_versions') return undefined;
        if (!path.endsWith('/export/csv')) {
          const attributes = { version: '1.9.8', 'workspace-count': 1, workspaces: 'a', build: '1.5' };
          const data = [{ id: 'row-1', attributes: { ...attributes, 'released-at': '2026-01-02T03:04:05.678+00:00' } }];
          const pagination = { 'current-page': 1, 'total-pages': 1, 'total-count': 1 };
          return { status: 200, body: JSON.stringify({ data, meta: { pagination } }) };
        }
        if (isTooLarge) return service.error(422, 'too large');
        const body = text([
          'version,workspace_count,workspaces,build,released_at',
          '"1.9.8","1","a","1.5","2026-01-02T03:04:05+00:00"',
        ]);
        return { status: 200, headers: TEXT_CSV, body };
      },
    });
    await place.pull(TF_VERSIONS);
    isTooLarge = true;
    expect((await place.pull(TF_VERSIONS)).stderr).toContain('too large');
    expect(await place.rows('select extra, valid_to from tf_versions_history')).toEqual([
      { extra: { build: '1.5', released_at: '2026-01-02T03:04:05+00:00' }, valid_to: null },
    ]);
  });

  test.each(['null', 'NULL'])(
    'reads a bare `%s` as null, and a quoted one of the same file as the text',
    async (spelling) => {
      const rows = [
        `"${spelling}",${spelling},"a"`,
        `"1.9",${spelling},${spelling}`,
        `"1.8","${spelling}",""`,
        `"1.7","2","b"`,
        '"1.6","3","c"',
        '"1.5","4","d"',
      ];
      const lines = ['version,workspace_count,workspaces', ...rows.map((row) => `${row},"${spelling}",${spelling}`)];
      lines[0] += ',odd,none';
      const place = await damaged({ onlyCsv: true, csv: () => text(lines) });
      await place.pull(TF_VERSIONS);
      expect(
        await place.rows(
          "select version, workspace_count::int as n, workspaces, extra from tf_versions where version > '1.6' order by 1",
        ),
      ).toEqual([
        { version: '1.7', n: 2, workspaces: 'b', extra: { odd: spelling } },
        { version: '1.8', n: null, workspaces: null, extra: { odd: spelling } },
        { version: '1.9', n: null, workspaces: null, extra: { odd: spelling } },
        { version: spelling, n: null, workspaces: 'a', extra: { odd: spelling } },
      ]);
    },
  );

  test('accepts a byte order mark and CRLF line endings', async () => {
    const place = await damaged({ onlyCsv: true, csv: (lines) => `\uFEFF${lines.join('\r\n')}\r\n` });
    await place.pull(TF_VERSIONS);
    await expectTable(place, 'tf_versions', 'spec');
  });

  test.each(REJECTED)('%s is rejected and logged, and JSON pages are used instead', async (what, _csv, reason) => {
    const { place, stderr, landing } = await rejected();
    const name = targetName(what);
    const lines = stderr.split('\n').filter((line) => line.includes(`${name}: tf_versions: `));
    expect(lines.join('\n')).toMatch(reason);
    expect(lines.join('\n')).toContain('retrying');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(600);
    const rows = await place.rows('select * from tf_versions where target = $name', { name });
    const expected = expectedTables(place.sandbox, 'spec').tf_versions ?? [];
    expect(byKey('tf_versions', rows)).toEqual(
      byKey(
        'tf_versions',
        expected.map((row) => ({ ...row, target: name })),
      ),
    );
    const files = join(landing, name);
    expect(
      existsSync(join(files, 'tf_versions.csv.gz.rejected')) || existsSync(join(files, 'tf_versions.csv.gz')),
    ).toBe(true);
    const manifest = JSON.parse(await readFile(join(files, 'tf_versions.json'), 'utf8'));
    expect(manifest.files.map(({ file }: { file: string }) => file)).toEqual(['tf_versions.csv.gz']);
  });

  test('that is a login page with status 200 is not an empty table: the pull fails and the rows stay', async () => {
    let broken = false;
    const page: Response = {
      status: 200,
      headers: { 'content-type': 'text/html' },
      body: '<!doctype html><title>Sign in</title>',
    };
    const place = await damaged({ onlyCsv: true, csv: (lines) => (broken ? page : text(lines)) });
    await place.pull(TF_VERSIONS);
    broken = true;
    const { stderr } = await place.pull(TF_VERSIONS, 3);
    expect(stderr).toContain('Sign in');
    await expectTable(place, 'tf_versions', 'spec');
  });

  test('is not used where the service reports no total, which alone proves that its end is not missing', async () => {
    const place: TestProject = await testProject({
      workspaces: 30,
      faultHook: ({ path, query }) => {
        if (query.get('type') !== 'tf_versions') return undefined;
        if (query.get('page[size]') === '1') return { status: 200, body: '{"data":[]}' };
        if (!path.endsWith('/export/csv')) return undefined;
        return { status: 200, headers: TEXT_CSV, body: text(exportLines(place).slice(0, -2)) };
      },
    });
    const { stderr } = await place.pull(TF_VERSIONS);
    expect(stderr).toContain('tf_versions: the service reports no total');
    await expectTable(place, 'tf_versions', 'spec');
  });

  test('without a fallback fails with the last message of the service', async () => {
    const place = await damaged({ onlyCsv: true, csv: (lines) => text(lines.slice(0, -2)) });
    expect(await failure(place)).toContain('no pages today');
    expect(await place.rows('select 1 as x from tf_versions')).toEqual([]);
  });
});

describe('times', () => {
  /** A platform whose export has workspaces that were created at these times. */
  async function withTimes(...cells: readonly string[]): Promise<TestProject> {
    const header = 'external_id,workspace_name,workspace_created_at';
    const lines = [header, ...cells.map((cell, index) => `"ws-${index + 1}","a",${cell}`)];
    const place = await testProject({
      workspaces: cells.length,
      faultHook: ({ path, query }, service) => {
        if (path.endsWith('/export/csv')) return { status: 200, headers: TEXT_CSV, body: text(lines) };
        const pages = path.endsWith('/explorer') && query.get('page[size]') !== '1';
        return pages ? service.error(422, 'no pages today') : undefined;
      },
    });
    const others = Object.keys(EXPLORER_FIELDS.workspaces).filter((name) => !header.split(',').includes(name));
    await place.configure(({ targets }) => Object.assign(targets[0] ?? {}, { missingColumns: others }));
    return place;
  }

  test('that cannot be read are rejected with their line, and not read as null', async () => {
    const place = await withTimes('"2026-01-02T03:04:05+00:00"', '"yester, ""day"""');
    const { stderr } = await place.pull(['--source', 'workspaces'], 3);
    expect(stderr).toMatch(/invalid timestamp field format: "yester, "day"".*: line 3 of workspaces\.csv/u);
  });

  test.each(['""', 'NULL'])('are read as those of JSON, also where null is written as %s', async (none) => {
    const sent = [
      '"2026-01-02T04:34:05+01:30"',
      '"2026-01-02T03:04:05.678+00:00"',
      '"1767323045"',
      '1767323045000',
      '"2026-01-02 03:04:05 +0000 UTC"',
    ];
    const place = await withTimes(...sent, '"0"', none);
    await place.pull(['--source', 'workspaces']);
    const rows = await place.rows('select workspace_created_at as time from workspaces order by external_id');
    expect(rows.map(({ time }) => time)).toEqual([...sent.map(() => '2026-01-02T03:04:05Z'), null, null]);
  });
});

describe('JSON pages', () => {
  const WORKSPACES = ['--source', 'workspaces'];

  /** A platform whose explorer has only pages, with one row for each of these values. */
  async function withValues(rows: readonly (readonly [failed: unknown, drifted: unknown])[]): Promise<TestProject> {
    const data = rows.map(([failed, drifted], index) => {
      const names = { 'external-id': `ws-${index + 1}`, 'workspace-name': 'a' };
      return { id: names['external-id'], attributes: { ...names, 'checks-failed': failed, drifted } };
    });
    const place = await testProject({
      workspaces: rows.length,
      faultHook: ({ path, query }, service) => {
        if (query.get('type') !== 'workspaces') return undefined;
        if (path.endsWith('/export/csv')) return service.error(422, 'no export today');
        const pagination = { 'current-page': 1, 'total-pages': 1, 'total-count': rows.length };
        return { status: 200, body: JSON.stringify({ data, meta: { pagination } }) };
      },
    });
    const told = ['external_id', 'workspace_name', 'checks_failed', 'drifted'];
    const others = Object.keys(EXPLORER_FIELDS.workspaces).filter((name) => !told.includes(name));
    await place.configure(({ targets }) => Object.assign(targets[0] ?? {}, { missingColumns: others }));
    return place;
  }

  test('have numbers and truth values; what is neither is unknown in its row alone', async () => {
    const unreadable = ['n/a', 1e30, [1], { value: 1 }, true].map((value) => [value, false] as const);
    const readable = [[3, true] as const, ['4', 'true'] as const, [null, null] as const];
    const place = await withValues([...readable, ...unreadable, [5, 'maybe']]);
    await place.pull(WORKSPACES);
    const rows = await place.rows('select checks_failed, drifted from workspaces order by external_id');
    expect(rows.map(Object.values)).toEqual([
      [3, true],
      [4, true],
      [null, null],
      ...unreadable.map(() => [null, false]),
      [5, null],
    ]);
  });

  test('lack a column that no row has in a form that can be read', async () => {
    const place = await withValues([
      ['n/a', true],
      ['many', null],
    ]);
    expect((await place.pull(WORKSPACES, 1)).stderr).toMatch(/quarantined: .*checks_failed/u);
  });
});
