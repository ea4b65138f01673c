import { expect, test } from 'vitest';
import { testProject } from '../helpers/test-project.ts';

test('a volume of the default namespace is read without the undocumented parameter `namespace`', async () => {
  const place = await testProject({
    workspaces: 5,
    faultHook: ({ path, query }, service) =>
      path.startsWith('/v1/volume/csi/') && query.get('namespace') === 'default'
        ? service.error(400, 'unknown parameter namespace')
        : undefined,
  });
  expect((await place.tidemark(['pull', '--source', 'volumes'])).exit).toBe(0);
  const spaces = await place.rows('select distinct namespace from volumes order by 1');
  expect(spaces.map(({ namespace }) => namespace)).toEqual(expect.arrayContaining(['default', 'prod']));
});
