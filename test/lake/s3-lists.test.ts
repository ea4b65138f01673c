import { describe, expect, test } from 'vitest';
import { parseListing } from '../../src/lake/s3/store.ts';
import type { LakeStore } from '../../src/lake/store.ts';
import { withStore } from '../helpers/lake-store.ts';
import { LAKE, startStore } from './fake-store.ts';

describe('lists', () => {
  test('are read to the last page, with keys as they are', async () => {
    const page = (key: string, next?: string) =>
      `<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>${next !== undefined}</IsTruncated>
      <Contents><Key>fleet/lake/t/${key}</Key><LastModified>2026-10-01T00:00:00.000Z</LastModified><Size>5</Size></Contents>
      ${next === undefined ? '' : `<NextContinuationToken>${next}</NextContinuationToken>`}</ListBucketResult>`;
    const { env, requests } = await startStore((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://store');
      response.end(
        searchParams.get('continuation-token') === 'a&b' ? page('b') : page('month%3D2026-10/a+b', 'a&amp;b'),
      );
    });
    expect(await withStore(LAKE, env, (store) => store.list('t'))).toEqual([
      { path: 't/b', bytes: 5, modifiedMs: Date.UTC(2026, 9, 1) },
      { path: 't/month=2026-10/a b', bytes: 5, modifiedMs: Date.UTC(2026, 9, 1) },
    ]);
    expect(requests.map(({ url }) => new URL(url, 'http://store').searchParams.get('prefix'))).toEqual([
      'fleet/lake/t/',
      'fleet/lake/t/',
    ]);
  });

  test.each([
    ['<html>sign in</html>', 'another document'],
    [
      '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>',
      'a page without the place of the next one',
    ],
    [
      '<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>100%</Key></Contents></ListBucketResult>',
      'a key that is no URL',
    ],
    [
      '<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a</Key></Contents>',
      'a page that is cut off between two files',
    ],
    ['<ListBucketResult><Contents><Key>a</Key></ListBucketResult>', 'a file that does not end'],
    ['<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>', 'a file without a key'],
    ['<ListBucketResult><CommonPrefixes></CommonPrefixes></ListBucketResult>', 'a folder without a name'],
    ['<ListBucketResult><IsTruncated>True</IsTruncated></ListBucketResult>', 'more pages, said in another way'],
    ['<ListBucketResult><Contents xmlns=""><Key>a</Key></Contents></ListBucketResult>', 'a file in another form'],
    [
      '<ListBucketResult><CommonPrefixes xmlns=""><Prefix>a/</Prefix></CommonPrefixes></ListBucketResult>',
      'a folder in another form',
    ],
  ])('are refused where files would be missing: %s', (xml) => {
    expect(() => parseListing(xml)).toThrow('does not answer with a complete list');
  });

  test.each([
    ['of another folder', (store: LakeStore) => store.list('t'), '<Contents><Key>fleet/lake/u/a</Key></Contents>'],
    [
      'of another lake',
      (store: LakeStore) => store.folders(),
      '<CommonPrefixes><Prefix>other/</Prefix></CommonPrefixes>',
    ],
  ])('with files %s, as where a proxy drops the query, are refused', async (_, read, xml) => {
    const { env } = await startStore((_request, response) =>
      response.end(`<ListBucketResult>${xml}</ListBucketResult>`),
    );
    await expect(withStore<unknown>(LAKE, env, read)).rejects.toMatchObject({ code: 'DATA' });
  });

  test('of a store that does not know where to begin have only what was asked for', async () => {
    const contents = ['1', '2', '3'].map((name) => `<Contents><Key>fleet/lake/t/${name}</Key></Contents>`).join('');
    const { env } = await startStore((_, response) => response.end(`<ListBucketResult>${contents}</ListBucketResult>`));
    expect(await withStore(LAKE, env, (store) => store.list('t', 't/2'))).toMatchObject([{ path: 't/3' }]);
  });

  test('leave out keys that name another object in a URL: vacuum would remove that', async () => {
    const keys = ['t/../u/a', 't/./a', 't/..', 't/..a/b.', 't/%2E%2E/u'];
    const contents = keys.map((key) => `<Contents><Key>fleet/lake/${key}</Key></Contents>`).join('');
    const { env } = await startStore((_, response) =>
      response.end(`<ListBucketResult><EncodingType>url</EncodingType>${contents}</ListBucketResult>`),
    );
    expect(await withStore(LAKE, env, (store) => store.list('t'))).toMatchObject([{ path: 't/..a/b.' }]);
  });

  test('have a further page where its place is named, whatever else is not', () => {
    const xml = '<ListBucketResult><NextContinuationToken>a</NextContinuationToken></ListBucketResult>';
    expect(parseListing(xml)).toMatchObject({ next: 'a' });
  });

  test.each(['EncodingType', 'Encoding-Type'])('say in %s that keys are encoded', (name) => {
    const xml = `<${name}>url</${name}><Contents><Key>a%3D1/b+c%2B</Key></Contents>`;
    expect(parseListing(`<ListBucketResult>${xml}</ListBucketResult>`)).toMatchObject({
      objects: [{ path: 'a=1/b c+' }],
    });
  });

  test.each([
    ['each page names the same next one', ['a'], 2],
    ['the pages name each other', ['a', 'b'], 3],
  ])('that never end, because %s, are refused', async (_, tokens, count) => {
    let asked = 0;
    const { env, requests } = await startStore((_request, response) =>
      response.end(
        `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>${tokens[asked++ % tokens.length]}</NextContinuationToken></ListBucketResult>`,
      ),
    );
    await expect(withStore(LAKE, env, (store) => store.list('t'))).rejects.toMatchObject({
      code: 'DATA',
      message: expect.stringContaining('does not answer with a complete list'),
    });
    expect(requests).toHaveLength(count);
  });

  test('are read in the time of one reading, also where no element ends', () => {
    const start = performance.now();
    const begun = '<Contents><Key>'.repeat(100_000);
    expect(() => parseListing(`<ListBucketResult>${begun}</ListBucketResult>`)).toThrow('complete list');
    expect(() => parseListing('<ListBucketResult'.repeat(100_000))).toThrow('complete list');
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  test('that never end, because each page names another next one, are refused', async () => {
    let pages = 0;
    const { env } = await startStore((_, response) => {
      const next = `<NextContinuationToken>${++pages}</NextContinuationToken>`;
      response.end(`<ListBucketResult><IsTruncated>true</IsTruncated>${next}</ListBucketResult>`);
    });
    await expect(withStore(LAKE, env, (store) => store.list('t'))).rejects.toMatchObject({
      code: 'DATA',
      message: expect.stringContaining('does not answer with a complete list'),
    });
  });

  test('have a thousand keys of the longest kind in a page', async () => {
    const key = `fleet/lake/t/${'%C3%BC'.repeat(505)}`;
    const contents = `<Contents><Key>${key}</Key><Size>1</Size></Contents>`.repeat(1_000);
    const { env } = await startStore((_, response) =>
      response.end(`<ListBucketResult><EncodingType>url</EncodingType>${contents}</ListBucketResult>`),
    );
    expect(await withStore(LAKE, env, (store) => store.list('t'))).toHaveLength(1_000);
  });

  test('keep what a key has that XML escapes', () => {
    const xml =
      '<Contents><Key>a&lt;&amp;&#x41;&#66;&unknown;</Key><Size>1</Size></Contents><CommonPrefixes><Prefix>p/</Prefix>';
    expect(parseListing(`<ListBucketResult>${xml}</CommonPrefixes></ListBucketResult>`)).toMatchObject({
      objects: [{ path: 'a<&AB&unknown;', bytes: 1 }],
      prefixes: ['p/'],
      next: undefined,
    });
  });
});
