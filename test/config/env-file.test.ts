import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { readJobs } from '../../src/config/job.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { cli } from '../helpers/cli.ts';
import { tempFolder } from '../helpers/temp.ts';

const CONFIG = `targets:
  - { name: nomad, kind: scheduler, url: "http://127.0.0.1:9", token: "\${NOMAD_TOKEN}", services: ["\${OTHER}"] }
`;

async function load(envFile: string, env: Record<string, string>) {
  const folder = await tempFolder();
  await writeFile(join(folder, 'tidemark.yaml'), CONFIG);
  await writeFile(join(folder, '.env'), envFile);
  const redactor = new Redactor();
  const config = loadConfig(join(folder, 'tidemark.yaml'), env, redactor);
  return { config, redactor, folder, target: config.targets[0] };
}

test('.env beside the configuration adds variables; its tokens are masked', async () => {
  const text = "# comment\nexport NOMAD_TOKEN='a token # of the file'\nOTHER=web\n";
  const { target, redactor } = await load(text, {});
  expect(target).toMatchObject({ token: 'a token # of the file', services: ['web'] });
  expect(redactor.text('it is a token # of the file')).toBe('it is ***');
});

test('.env never overrides the environment', async () => {
  const { target } = await load('NOMAD_TOKEN=from-the-file\nOTHER=web\n', { NOMAD_TOKEN: 'from-the-environment' });
  expect(target).toMatchObject({ token: 'from-the-environment', services: ['web'] });
});

test.each([
  ['a carriage return before each line break', 'NOMAD_TOKEN=a-long-token\r\nOTHER=web\r\n', 'a-long-token'],
  ['a byte order mark', '\ufeffNOMAD_TOKEN=a-long-token\nOTHER=web\n', 'a-long-token'],
  ['double quotes, with a hash in them', 'NOMAD_TOKEN="a # token"\nOTHER=web\n', 'a # token'],
  ['single quotes and `export`', "export NOMAD_TOKEN='a \\n token'\nOTHER=web\n", 'a \\n token'],
  ['comments and blank lines', '# a comment\n\nNOMAD_TOKEN=a-long-token # for reading\nOTHER=web\n', 'a-long-token'],
  ['references, which are not expanded', `NOMAD_TOKEN=$HOME-\${OTHER}-$(id)\nOTHER=web\n`, `$HOME-\${OTHER}-$(id)`],
  ['spaces around the equals sign', 'NOMAD_TOKEN = a-long-token\nOTHER=web\n', 'a-long-token'],
  ['an equals sign in the value', 'NOMAD_TOKEN=abc=def==\nOTHER=web\n', 'abc=def=='],
])('reads %s', async (_, text, token) => {
  expect((await load(text, {})).target?.token).toBe(token);
});

test('an empty variable of the environment is not filled in', async () => {
  await expect(load('NOMAD_TOKEN=from-the-file\nOTHER=web\n', { NOMAD_TOKEN: '' })).rejects.toThrow(
    'the environment variable NOMAD_TOKEN is empty; export a value, or unset it so that .env beside the file can set it',
  );
});

test('jobs use it as well', async () => {
  const { config, folder } = await load('NOMAD_TOKEN=a-long-token\nOTHER=web\nCHECK=abc\n', {});
  await mkdir(join(folder, 'jobs'));
  await writeFile(join(folder, 'jobs', 'mine.yaml'), `heartbeat: "https://hc.example/\${CHECK}"\n`);
  const { jobs } = readJobs(config, {});
  expect(jobs.find(({ name }) => name === 'mine')?.heartbeat).toBe('https://hc.example/abc');
});

test('without it nothing changes; one that cannot be read is an error with its path', async () => {
  const folder = await tempFolder();
  await writeFile(join(folder, 'tidemark.yaml'), CONFIG);
  expect((await cli(['pull'], { cwd: folder })).stderr).toContain('the environment variable NOMAD_TOKEN is not set');
  await mkdir(join(folder, '.env'));
  const { exit, stderr } = await cli(['status'], { cwd: folder });
  expect(exit).toBe(2);
  expect(stderr).toMatch(/\.env cannot be read/u);
});

test.each([`\${NOWHERE}`, `smtp://digest:\${NOWHERE}@mail.example`, `smtp://\${NOWHERE}:25`])(
  'a command that talks to nobody needs no value for the mail server %s',
  async (smtp) => {
    const file = join(await tempFolder(), 'tidemark.yaml');
    const targets = 'targets: [{ name: acme, kind: mesh, url: "http://127.0.0.1:9" }]';
    await writeFile(file, `${targets}\nmail: { smtp: "${smtp}", from: a@b.example }\n`);
    expect(loadConfig(file, {}, new Redactor(), { needsSecrets: false }).mail).toMatchObject({ from: 'a@b.example' });
    expect(() => loadConfig(file, {}, new Redactor())).toThrow('the environment variable NOWHERE is not set');
  },
);
