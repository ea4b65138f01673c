import { expect, test } from 'vitest';
import { workplace } from '../helpers/sandbox.ts';

test('a volume of the default namespace is read without the parameter that the document does not have', async () => {
  const place = await workplace({
    workspaces: 5,
    intercept: ({ path, query }, service) =>
      path.startsWith('/v1/volume/csi/') && query.get('namespace') === 'default'
        ? service.error(400, 'unknown parameter namespace')
        : undefined,
  });
  expect((await place.tidemark(['pull', '--source', 'volumes'])).exit).toBe(0);
  const spaces = await place.rows('select distinct namespace from volumes order by 1');
  expect(spaces.map(({ namespace }) => namespace)).toEqual(expect.arrayContaining(['default', 'prod']));
});
