import fc from 'fast-check';
import semver from 'semver';
import { expect, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';

async function readKeys(versions: readonly (string | null)[]): Promise<readonly (string | null)[]> {
  const database = await openDatabase(':memory:');
  onTestFinished(() => database.close());
  await database.run(await createSqlFiles([PACKAGE_ROOT]).render('warehouse/semver_key', { scope: 'temp ' }));
  const rows = await database.rows(
    `select semver_key(version) as key
     from (select unnest(from_json($versions, '["varchar"]')) as version, generate_subscripts(from_json($versions, '["varchar"]'), 1) as place)
     order by place`,
    { versions: JSON.stringify(versions) },
  );
  return rows.map(({ key }) => key as string | null);
}

test('semver_key sorts as the semver library does', async () => {
  const number = fc.constantFrom(0, 1, 2, 10, 99_999);
  const identifier = fc.oneof(
    fc.nat(12).map(String),
    fc.stringMatching(/^[0-9A-Za-z-]{1,4}$/).filter((text) => !/^0\d+$/u.test(text)),
  );
  const version = fc
    .tuple(number, number, number, fc.array(identifier, { maxLength: 3 }), fc.boolean())
    .map(
      ([a, b, c, pre, build]) => `${a}.${b}.${c}${pre.length > 0 ? `-${pre.join('.')}` : ''}${build ? '+b.1-x' : ''}`,
    )
    .filter((text) => semver.valid(text) !== null);
  const versions = fc.sample(version, { numRuns: 400, seed: 1 });
  const keys = await readKeys(versions);
  const sign = (a: string, b: string) => (a < b ? -1 : Number(a > b));
  for (const [i, a] of versions.entries()) {
    expect(keys[i]!.endsWith('~'), a).toBe(semver.prerelease(a) === null);
    const wrong = versions.filter((b, j) => sign(keys[i]!, keys[j]!) !== semver.compare(a, b));
    expect(wrong, a).toEqual([]);
  }
});

test('semver_key accepts a leading v and short versions, and is null for anything else', async () => {
  const [plain, ...same] = await readKeys(['1.5.0', 'v1.5.0', '1.5', ' 1.5.0 ', '1.5.0+ent']);
  expect(new Set(same)).toEqual(new Set([plain]));
  expect(await readKeys(['latest', '~> 1.5', '', '1.2.3.4', '1..2', '1.2.3-', null])).toEqual(Array(7).fill(null));
});

test('semver_key sorts the releases that Terraform Enterprise named by month before 1.0.0', async () => {
  const versions = [
    'v202208',
    'v202208-3',
    'v202501-1',
    'v202501-2',
    'v202501-10',
    'v202507-1',
    '1.0.0',
    '1.1.0',
    '2.0.0',
  ];
  const keys = await readKeys(versions);
  expect([...keys].sort()).toEqual(keys);
  expect(await readKeys(['202501-1'])).toEqual([keys[2]]);
  expect(keys.every((key) => key?.endsWith('~'))).toBe(true); // no prerelease
});
