import { expect, test } from 'vitest';
import { cli } from '../helpers/cli.ts';

test('the help of api says that secrets in an answer are printed', async () => {
  const { stdout } = await cli(['api', '--help'], { cwd: '/' });
  expect(stdout).toContain('prints what the service answers, with the secrets in it');
});
