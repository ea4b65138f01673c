import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/config.ts';
import { configSchema, thresholds } from '../../src/config/schema.ts';
import { createRedactor } from '../../src/core/redact/redactor.ts';
import { cli } from '../helpers/cli.ts';
import { tempFolder } from '../helpers/temp.ts';

const env = {
  TFE_TOKEN: 'aaaa',
  VAULT_TOKEN: 'bbbb',
  NOMAD_TOKEN: 'cccc',
  CONSUL_HTTP_TOKEN: 'dddd',
  SMTP_PASSWORD: 'eeee',
};

async function initialized() {
  const cwd = await tempFolder();
  const result = await cli(['init'], { cwd });
  return { cwd, result, yaml: await readFile(join(cwd, 'tidemark.yaml'), 'utf8') };
}

/** The file with every commented key uncommented. */
function uncommented(yaml: string): string {
  return yaml.replaceAll(/^(\s*)# ?(\s*(?:- \{|[a-zA-Z]+:)(?: .*)?)$/gmu, '$1$2');
}

test('writes a configuration that is valid once its variables are set, and says what to do next', async () => {
  const { cwd, result } = await initialized();
  expect(result).toMatchObject({ exit: 0, stderr: '' });
  expect(result.stdout).toContain('tidemark doctor');
  expect(loadConfig(join(cwd, 'tidemark.yaml'), env, createRedactor()).targets.length).toBe(5);
});

test('names every variable of the configuration in .env.example', async () => {
  const { cwd, yaml } = await initialized();
  const example = await readFile(join(cwd, '.env.example'), 'utf8');
  const named = [...yaml.matchAll(/^[^#\n]*\$\{([A-Z_]+)\}/gmu)].map(([, name]) => name);
  expect(named.length).toBeGreaterThan(3);
  for (const name of named) expect(example).toMatch(new RegExp(`^${name}=`, 'mu'));
});

test('documents every key, with its default, in a form that is valid too', async () => {
  const { cwd, yaml } = await initialized();
  for (const key of [...Object.keys(configSchema.shape), ...Object.keys(thresholds.shape)]) {
    expect(yaml, key).toMatch(new RegExp(`\\b${key}:`, 'u'));
  }
  await writeFile(join(cwd, 'tidemark.yaml'), uncommented(yaml));
  const config = loadConfig(join(cwd, 'tidemark.yaml'), { ...env, TFE_WRITE_TOKEN: 'ffff' }, createRedactor());
  const bare = configSchema.parse({ targets: parse(yaml).targets });
  for (const key of ['landingDays', 'reportDays', 'shrinkPercent', 'maxWait', 'memoryLimit', 'thresholds'] as const) {
    expect(config[key], key).toEqual(bare[key]);
  }
});

test('keeps existing files, unless --force is given', async () => {
  const { cwd } = await initialized();
  await writeFile(join(cwd, 'tidemark.yaml'), 'mine');
  const again = await cli(['init'], { cwd });
  expect(again.exit).toBe(6);
  expect(again.stderr).toContain('tidemark.yaml already exists');
  expect(await readFile(join(cwd, 'tidemark.yaml'), 'utf8')).toBe('mine');
  expect((await cli(['init', '--force', '--json'], { cwd })).json()).toEqual({
    written: [join(cwd, 'tidemark.yaml'), join(cwd, '.env.example')],
  });
  expect(await readFile(join(cwd, 'tidemark.yaml'), 'utf8')).not.toBe('mine');
});

test('writes where --config says', async () => {
  const cwd = await tempFolder();
  await cli(['init', '--config', 'other.yaml'], { cwd });
  expect(await readFile(join(cwd, 'other.yaml'), 'utf8')).toContain('targets:');
});
