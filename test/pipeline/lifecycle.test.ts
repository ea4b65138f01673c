import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startServer } from '../helpers/http-service.ts';
import { testProject } from '../helpers/test-project.ts';

const SUPPORT = `select cycle, support_ends_at::varchar as ends, ended, ends_with, data_as_of::varchar as as_of, origin
  from lifecycle where product = $product order by released_at desc limit 3`;
/** The source that takes the fewest requests. */
const ONE_SOURCE = ['--source', 'autoscaler_health'];
const NEXT_DAY = '2026-11-24T02:15:00Z';

/** An answer as endoflife.date gives it, with fields that nobody reads. */
function answer(name: string, releases: readonly object[], changes: object = {}) {
  const defaults = {
    releaseDate: '2026-10-01',
    isLts: false,
    isEol: false,
    eolFrom: null,
    isMaintained: true,
    custom: null,
  };
  const latest = { name: '9.9.9', date: '2026-11-01', link: null };
  return {
    schema_version: '1.2.0',
    generated_at: '2026-11-23T01:02:03+00:00',
    last_modified: '2026-11-02T12:16:33+00:00',
    result: { name, label: name, releases: releases.map((release) => ({ ...defaults, latest, ...release })) },
    ...changes,
  };
}

test('a run takes the facts of the package, and an end that is not known is no support', async () => {
  const { pull, rows } = await testProject();
  await pull([...ONE_SOURCE]);
  expect(await rows(SUPPORT, { product: 'terraform' })).toEqual([
    { cycle: '1.15', ends: null, ended: false, ends_with: '1.17', as_of: '2026-08-22', origin: 'packaged' },
    { cycle: '1.14', ends: null, ended: false, ends_with: '1.16', as_of: '2026-08-22', origin: 'packaged' },
    { cycle: '1.13', ends: '2026-04-29', ended: false, ends_with: null, as_of: '2026-08-22', origin: 'packaged' },
  ]);
  const ended =
    "select product || ' ' || cycle as name from lifecycle where support_ends_at < date '2026-11-01' and (product, cycle) in (('vault', '1.20'), ('consul', '1.20'), ('nomad', '1.9')) order by all";
  expect(await rows(ended)).toEqual([{ name: 'consul 1.20' }, { name: 'nomad 1.9' }, { name: 'vault 1.20' }]);
  await pull([...ONE_SOURCE, '--now', NEXT_DAY]);
  expect(await rows('select count(distinct known_at) as times from lifecycle_facts'), 'once').toEqual([{ times: 1 }]);
});

test('import takes newer facts, keeps what a document lacks, and a moment has what was known then', async () => {
  const { folder, pull, rows, tidemark } = await testProject();
  await pull([...ONE_SOURCE]);
  const releases = [{ name: '1.16' }, { name: '1.14', isEol: true }, { name: '1.15', eolFrom: null }];
  await writeFile(join(folder, 'terraform.json'), JSON.stringify(answer('terraform', releases)));
  const { exit, stdout } = await tidemark(['lifecycle', 'import', 'terraform.json', '--now', NEXT_DAY]);
  expect([exit, stdout]).toEqual([0, '3 new facts of 3, as of 2026-11-23\n']);
  const all =
    "select cycle, ended, ends_with, data_as_of::varchar as as_of, origin from lifecycle where product = 'terraform' and released_at > '2025-08-01' order by cycle";
  expect(await rows(all)).toEqual([
    { cycle: '1.13', ended: false, ends_with: null, as_of: '2026-08-22', origin: 'packaged' },
    { cycle: '1.14', ended: true, ends_with: null, as_of: '2026-11-23', origin: 'imported' },
    { cycle: '1.15', ended: false, ends_with: '1.17', as_of: '2026-11-23', origin: 'imported' },
    { cycle: '1.16', ended: false, ends_with: null, as_of: '2026-11-23', origin: 'imported' },
  ]);
  const then = await tidemark([
    'sql',
    '--as-of',
    '2026-11-22',
    '--format',
    'csv',
    "select max(data_as_of) as day from lifecycle where product = 'terraform'",
    '--now',
    NEXT_DAY,
  ]);
  expect(then.stdout).toBe('day\n2026-08-22\n');
  await pull([...ONE_SOURCE, '--now', '2026-11-25T02:15:00Z']);
  expect((await rows(all)).at(-1), 'the package does not replace newer facts').toMatchObject({ origin: 'imported' });
  const again = await tidemark(['lifecycle', 'import', 'terraform.json', '--now', '2026-11-26T02:15:00Z']);
  expect(again.stdout).toBe('0 new facts of 3, as of 2026-11-23; the warehouse has the others, or newer ones\n');
});

test('import holds for what a run of a clock that was ahead has recorded', async () => {
  const { folder, pull, rows, tidemark } = await testProject();
  await pull([...ONE_SOURCE, '--now', '2026-12-24T02:15:00Z']);
  await writeFile(join(folder, 'terraform.json'), JSON.stringify(answer('terraform', [{ name: '1.15', isEol: true }])));
  await tidemark(['lifecycle', 'import', 'terraform.json', '--now', NEXT_DAY]);
  expect((await rows(SUPPORT, { product: 'terraform' }))[0]).toMatchObject({ ended: true, origin: 'imported' });
  await writeFile(
    join(folder, 'terraform.json'),
    JSON.stringify(answer('terraform', [{ name: '1.15', isEol: false }])),
  );
  await tidemark(['lifecycle', 'import', 'terraform.json', '--now', NEXT_DAY]);
  expect((await rows(SUPPORT, { product: 'terraform' }))[0], 'the last import holds').toMatchObject({ ended: false });
});

const CYCLE = { name: '1.16' };
test.each([
  ['{"releases": [', 'facts.json is not JSON'],
  ['[]', 'facts.json: the document: '],
  [JSON.stringify(answer('terraform', [])), 'facts.json: result.releases: '],
  [JSON.stringify(answer('terraform', [CYCLE, CYCLE])), 'facts.json: terraform 1.16 is there twice'],
  [JSON.stringify(answer('terraform', [{ name: '1.16', eolFrom: 'soon' }])), 'facts.json: result.releases.0.eolFrom: '],
  [
    JSON.stringify(answer('terraform', [{ name: '<b>1.16</b>' }])),
    'result.releases.0.name: must be a version such as 1.13',
  ],
  [
    JSON.stringify(answer('terraform', [CYCLE], { schema_version: '2.0.0' })),
    'facts.json: schema_version: must be 1.x',
  ],
  [
    JSON.stringify(answer('terraform', [CYCLE], { generated_at: '2031-01-01T00:00:00Z' })),
    'facts.json: its facts are of 2031-01-01, which is still to come',
  ],
])('import refuses %s in one line, and changes nothing', async (text, error) => {
  const { folder, tidemark } = await testProject();
  await writeFile(join(folder, 'facts.json'), text);
  const { exit, stderr } = await tidemark(['lifecycle', 'import', 'facts.json', '--now', NEXT_DAY]);
  expect([exit, stderr]).toEqual([4, expect.stringContaining(error)]);
  expect(stderr.split('\n').filter((line) => line.startsWith('error: '))).toHaveLength(1);
});

test('lifecycle.url is asked for each product, and what is refused, cut off or too long keeps the last facts and is told', async () => {
  const server = await startServer(({ url = '' }, response) => {
    const name = url.split('/').at(url.endsWith('/') ? -2 : -1) ?? '';
    if (url.endsWith('/'))
      return void response.end(JSON.stringify(answer(name, [{ name: '2.9', eolFrom: '2030-01-01' }])));
    if (name === 'boundary') return void response.end(JSON.stringify(answer('terraform', [{ name: '1.13' }])));
    if (name === 'openbao') return void response.writeHead(301, { location: `${url}/` }).end();
    if (name === 'opentofu') return void response.writeHead(301, { location: 'https://evil.example/' }).end();
    if (name === 'vault') return void response.writeHead(404).end();
    if (name === 'nomad') return void response.writeHead(200).write('{"schema', () => response.destroy());
    if (name === 'packer') return void response.end('<html>');
    if (name === 'consul') return void response.end(' '.repeat(5 * 1024 * 1024));
    response.end(JSON.stringify(answer(name, [{ name: '2.9', eolFrom: '2030-01-01' }])));
  });
  onTestFinished(server.close);
  const { configure, pull, rows } = await testProject();
  await configure((config) => void Object.assign(config, { lifecycle: { url: server.origin } }));
  const { stderr } = await pull([...ONE_SOURCE, '--now', NEXT_DAY]);
  expect(server.requests.map(({ url }) => url)).toContain('/api/v1/products/terraform');
  const told = stderr.split('\n').filter((line) => line.includes('lifecycle facts of'));
  expect(told.map((line) => /of (\w+)/u.exec(line)?.[1]).sort()).toEqual([
    'boundary',
    'consul',
    'nomad',
    'opentofu',
    'packer',
    'vault',
  ]);
  expect(stderr).toMatch(/of boundary from .*: the answer is about terraform; the last facts are kept/u);
  expect(stderr).toMatch(/of opentofu from .*: status 301; the last facts are kept/u);
  expect(stderr).toMatch(/of vault from 127\.0\.0\.1:\d+: status 404; the last facts are kept/u);
  const [first] = await rows(SUPPORT, { product: 'openbao' });
  expect(first).toMatchObject({ cycle: '2.9', ends: '2030-01-01', origin: server.origin });
  expect(
    await rows("select distinct origin from lifecycle where product in ('vault', 'nomad', 'packer', 'consul')"),
  ).toEqual([{ origin: 'packaged' }]);
  expect(
    (await rows("select 1 from lifecycle where product = 'terraform' and cycle = '1.13'")).length,
    'a cycle that the answer lacks',
  ).toBe(1);
});

test('an address without a place for a name is asked once, and a server that is gone costs no night', async () => {
  const document = {
    data_as_of: '2026-11-20',
    releases: [
      {
        product: 'vault',
        cycle: '2.1',
        released_at: null,
        support_ends: null,
        ended: false,
        ends_with: null,
        latest: null,
        latest_at: null,
      },
    ],
  };
  const server = await startServer((_, response) => void response.end(JSON.stringify(document)));
  const { configure, pull, rows } = await testProject();
  await configure((config) => void Object.assign(config, { lifecycle: { url: `${server.origin}/mirror/facts.json` } }));
  await pull([...ONE_SOURCE, '--now', NEXT_DAY]);
  expect(server.requests.map(({ url }) => url)).toEqual(['/mirror/facts.json']);
  expect(await rows("select cycle from lifecycle where product = 'vault' and data_as_of = date '2026-11-20'")).toEqual([
    { cycle: '2.1' },
  ]);
  await server.close();
  const { stderr } = await pull([...ONE_SOURCE, '--now', '2026-11-25T02:15:00Z']);
  expect(stderr).toMatch(
    /lifecycle facts of all products from 127\.0\.0\.1:\d+: connection refused \(ECONNREFUSED\); the last facts are kept/u,
  );
});
