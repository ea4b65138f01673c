import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import type { StartOptions } from '../../sandbox/index.ts';
import { loadConfig } from '../../src/config/config.ts';
import { configSchema, thresholds } from '../../src/config/schema.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { cli } from '../helpers/cli.ts';
import { startWithEmptyWarehouse } from '../helpers/prepared.ts';
import { tempFolder } from '../helpers/temp.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';

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
  expect(loadConfig(join(cwd, 'tidemark.yaml'), env, new Redactor()).targets.length).toBe(6);
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
  const config = loadConfig(join(cwd, 'tidemark.yaml'), { ...env, TFE_WRITE_TOKEN: 'ffff' }, new Redactor());
  const bare = configSchema.parse({ targets: parse(yaml).targets });
  for (const key of [
    'landingDays',
    'reportDays',
    'planDays',
    'shrinkPercent',
    'maxWait',
    'memoryLimit',
    'thresholds',
  ] as const) {
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

test('writes .env.example beside the configuration, where .env is read', async () => {
  const cwd = await tempFolder();
  await mkdir(join(cwd, 'estate'));
  await cli(['init', '--config', 'estate/tidemark.yaml'], { cwd });
  expect(await readFile(join(cwd, 'estate', '.env.example'), 'utf8')).toMatch(/^TFE_TOKEN=$/mu);
});

describe('with URLs of services', () => {
  async function probe(options: StartOptions, kinds: readonly ('platform' | 'secrets' | 'scheduler' | 'mesh')[]) {
    const cwd = await tempFolder();
    const sandbox = await startTestSandbox({ workspaces: 5, flavor: 'hashicorp', ...options });
    onTestFinished(() => sandbox.close());
    const { urls, tokens } = sandbox;
    const variables = {
      TFE_TOKEN: tokens.platform.read,
      VAULT_TOKEN: tokens.secrets.read,
      NOMAD_TOKEN: tokens.scheduler.read,
      CONSUL_HTTP_TOKEN: tokens.mesh.read,
    };
    const words = kinds.flatMap((kind) => [`--${kind}`, urls[kind]]);
    const more = kinds.includes('platform') ? ['--organization', 'acme'] : [];
    const result = await cli(['init', ...words, ...more], { cwd, env: variables });
    const yaml = existsSync(join(cwd, 'tidemark.yaml')) ? await readFile(join(cwd, 'tidemark.yaml'), 'utf8') : '';
    return { cwd, result, yaml, variables };
  }

  test('asks each service what it has, and writes a configuration that doctor and pull accept', async () => {
    const { cwd, result, yaml, variables } = await probe(
      {
        faultHook: ({ path }, service) => {
          if (path.startsWith('/v1/keymgmt/')) return service.error(404, `no handler for route '${path.slice(4)}/'`);
          return path.includes('/explorer') ? { status: 404, body: '404 page not found' } : undefined;
        },
      },
      ['platform', 'secrets', 'scheduler', 'mesh'],
    );
    expect(result).toMatchObject({ exit: 0, stderr: '' });
    expect(result.stdout).toContain('vault: does not have keys, kms_providers, key_distributions');
    expect(result.stdout).toContain('nomad: has all sources');
    const { targets } = parse(yaml) as { targets: Record<string, unknown>[] };
    expect(result.stdout).toContain('acme: its explorer answers 404, so that its list of workspaces is read\n');
    expect(targets[0]).toMatchObject({ explorer: 'workspaces' });
    expect(targets.map(({ name, without }) => [name, without])).toEqual([
      ['acme', undefined],
      ['vault', ['keys', 'kms_providers', 'key_distributions']],
      ['nomad', undefined],
      ['consul', undefined],
    ]);
    for (const token of Object.values(variables)) expect(`${yaml}${result.stdout}`).not.toContain(token);
    const io = { cwd, env: variables };
    expect((await cli(['doctor', '--now', '2026-10-01T02:15:00Z'], io)).stdout).not.toMatch(
      /FAIL.*(?:keys|workspaces)/u,
    );
    await startWithEmptyWarehouse(join(cwd, 'data'));
    expect((await cli(['pull'], io)).exit).toBe(0);
  });

  test('writes the mount where an engine is', async () => {
    const { yaml } = await probe(
      {
        faultHook: ({ path }) =>
          path === '/v1/sys/internal/ui/mounts'
            ? { status: 200, body: '{"data":{"secret":{"eu-keys/":{"type":"keymgmt"},"consul/":{"type":"consul"}}}}' }
            : path.startsWith('/v1/keymgmt')
              ? { status: 404, body: '{"errors":["no handler for route \'keymgmt/key/\'"]}' }
              : undefined,
      },
      ['secrets'],
    );
    expect(parse(yaml).targets[0]).toMatchObject({ mounts: { keymgmt: 'eu-keys' } });
    expect(parse(yaml).targets[0].without).toBeUndefined();
  });

  test('names every Consul engine of a Vault that has two', async () => {
    const body = '{"data":{"secret":{"consul/":{"type":"consul"},"consul-b/":{"type":"consul"}}}}';
    const { yaml } = await probe(
      { faultHook: ({ path }) => (path === '/v1/sys/internal/ui/mounts' ? { status: 200, body } : undefined) },
      ['secrets'],
    );
    expect(parse(yaml).targets[0]).toMatchObject({ mounts: { mesh: ['consul', 'consul-b'] } });
  });

  test('names no engine whose path a configuration would read as a secret, and does not call it absent', async () => {
    const secret = '$' + '{TFE_TOKEN}';
    const mounts = (engines: object) => JSON.stringify({ data: { secret: engines } });
    const asked = (body: string, isMoved: boolean) =>
      probe(
        {
          faultHook: ({ path }) => {
            if (path === '/v1/sys/internal/ui/mounts') return { status: 200, body };
            const isRole = isMoved && path.startsWith('/v1/consul/');
            return isRole ? { status: 404, body: '{"errors":["no handler for route \'consul/roles/\'"]}' } : undefined;
          },
        },
        ['secrets'],
      );
    const beside = { 'consul/': { type: 'consul' }, [`a${secret}/`]: { type: 'consul' }, 'b/': { type: 'consul' } };
    expect(parse((await asked(mounts(beside), false)).yaml).targets[0].mounts).toEqual({ mesh: ['consul', 'b'] });
    const { yaml, result } = await asked(mounts({ [`a${secret}/`]: { type: 'consul' } }), true);
    expect(parse(yaml).targets[0]).not.toHaveProperty('mounts');
    expect(parse(yaml).targets[0]).not.toHaveProperty('without');
    expect(result.stdout).toContain('vault: could not be asked for mesh_roles\n');
  });

  test('writes a target that cannot be asked, and says why', async () => {
    const cwd = await tempFolder();
    const words = ['init', '--secrets', 'http://127.0.0.1:9', '--scheduler', 'http://127.0.0.1:9'];
    const { exit, stdout } = await cli(words, { cwd });
    expect(exit).toBe(0);
    expect(stdout).toMatch(/vault: not asked: VAULT_TOKEN is not set\nnomad: not asked: .*unreachable/u);
    const yaml = await readFile(join(cwd, 'tidemark.yaml'), 'utf8');
    expect(yaml).toContain('# vault was not asked: VAULT_TOKEN is not set');
    expect(parse(yaml).targets).toHaveLength(2);
  });

  test('leaves out no source because something else answers in the place of a service', async () => {
    const elsewhere = { status: 404, body: '404 page not found' };
    const kinds = ['platform', 'secrets', 'scheduler', 'mesh'] as const;
    const { result, yaml } = await probe({ faultHook: () => elsewhere }, kinds);
    expect(result.stdout.match(/not asked: .*404 not-found: 404 page not found/gu)).toHaveLength(kinds.length);
    for (const target of parse(yaml).targets) expect(target).not.toHaveProperty('without');
  });

  test('a name of several lines stays within its comment', async () => {
    const cwd = await tempFolder();
    await cli(['init', '--platform', 'https://127.0.0.1:9', '--organization', 'a\nb: c'], { cwd });
    expect(parse(await readFile(join(cwd, 'tidemark.yaml'), 'utf8')).targets[0].organization).toBe('a\nb: c');
  });

  test('writes the token of a service that refuses requests without one', async () => {
    const cwd = await tempFolder();
    const sandbox = await startTestSandbox({ workspaces: 5, flavor: 'hashicorp' });
    onTestFinished(() => sandbox.close());
    const { stdout } = await cli(['init', '--scheduler', sandbox.urls.scheduler], { cwd });
    expect(stdout).toContain('nomad: not asked: it refuses requests without a token, and NOMAD_TOKEN is not set\n');
    expect(stdout).toContain('1. set NOMAD_TOKEN in .env, a copy of .env.example, or in the environment\n');
    expect(parse(await readFile(join(cwd, 'tidemark.yaml'), 'utf8')).targets[0].token).toBe('$' + '{NOMAD_TOKEN}');
    expect(await readFile(join(cwd, '.env.example'), 'utf8')).toMatch(/^NOMAD_TOKEN=$/mu);
  });

  test('does not claim a source that the service refused', async () => {
    const { result, yaml } = await probe(
      {
        faultHook: ({ path }, { error }) => (path === '/v1/acl/policies' ? error(403, 'Permission denied') : undefined),
      },
      ['scheduler'],
    );
    expect(result.stdout).toContain('nomad: could not be asked for acl_policies\n');
    expect(parse(yaml).targets[0].without).toBeUndefined();
  });

  test.each([
    [['--platform', 'https://a.example'], '--platform requires --organization'],
    [['--service', 'web'], '--service requires --mesh'],
    [['--scheduler', 'nomad:4646'], '--scheduler: must begin with https:// or http://'],
    [['--secrets', 'vault'], '--secrets: is not a URL such as https://host:port'],
    [['--secrets', 'https://a:password-1@vault'], '--secrets: must not contain a user or password'],
  ])('refuses %j, with or without a token', async (words, message) => {
    const cwd = await tempFolder();
    for (const env of [{}, { VAULT_TOKEN: 'a-token-of-the-test' }]) {
      const { exit, stdout, stderr } = await cli(['init', ...words], { cwd, env });
      expect([exit, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)]);
      expect(stderr).not.toContain('password-1');
    }
    expect(existsSync(join(cwd, 'tidemark.yaml'))).toBe(false);
  });
});

describe('on a terminal', () => {
  /** Answers the questions in their order, and Enter after the last answer. */
  async function answered(answers: readonly string[], more: Partial<Parameters<typeof cli>[1]> = {}) {
    const cwd = await tempFolder();
    const given = [...answers];
    const readLine = async () => given.shift() ?? '';
    const result = await cli(['init'], { cwd, stdinIsTerminal: true, readLine, ...more });
    const file = join(cwd, 'tidemark.yaml');
    return { cwd, result, left: given, yaml: existsSync(file) ? await readFile(file, 'utf8') : '' };
  }

  test('asks for each service, and writes those that are named with the tokens that they need', async () => {
    const { cwd, result, yaml } = await answered(['acme', '', '', '', 'http://127.0.0.1:9']);
    expect(result.exit).toBe(0);
    const { targets } = parse(yaml) as { targets: Record<string, unknown>[] };
    expect(targets.map(({ kind, url, organization }) => [kind, url, organization])).toEqual([
      ['platform', 'https://app.terraform.io', 'acme'],
      ['autoscaler', 'http://127.0.0.1:9', undefined],
    ]);
    const example = await readFile(join(cwd, '.env.example'), 'utf8');
    expect(example).toMatch(/^TFE_TOKEN=$/mu);
    expect(example.match(/^# \w+_(?:TOKEN|PASSWORD)=$/gmu)).toHaveLength(4);
    expect(result.stdout).toMatch(/\nNext:\n {2}1\. set TFE_TOKEN in \.env, a copy of \.env\.example/u);
  });

  test("offers the addresses of the vendors' clients, and takes - for none", async () => {
    const env = { TF_CLOUD_ORGANIZATION: 'acme', VAULT_ADDR: 'http://127.0.0.1:9', CONSUL_HTTP_ADDR: '127.0.0.1:9' };
    const { result, yaml } = await answered(['-', ''], { env });
    for (const [service, address] of [
      ['organization', 'acme'],
      ['Vault: URL', 'http://127.0.0.1:9'],
      ['Consul agent: URL', 'http://127.0.0.1:9'],
    ]) {
      expect(result.stderr).toContain(`${service} [${address}]: `);
    }
    expect(parse(yaml).targets.map(({ kind }: { kind: string }) => kind)).toEqual(['secrets', 'mesh']);
  });

  test('does not offer an address that it would refuse, such as one with a password', async () => {
    const { result } = await answered([], { env: { VAULT_ADDR: 'https://a:password-1@vault' } });
    expect([result.exit, result.stderr]).toEqual([0, expect.stringContaining('Vault: URL [none]: ')]);
  });

  test('asks again for what is not a URL, three times', async () => {
    const { result, yaml } = await answered(['', 'vault', 'ftp://vault', 'https://a:b@vault']);
    expect(result.exit).toBe(2);
    expect(result.stderr).toMatch(/ {2}vault: is not a URL such as https:\/\/host:port/u);
    expect(result.stderr).toMatch(/ {2}ftp:\/\/vault: must begin with https:\/\/ or http:\/\//u);
    expect(result.stderr).toMatch(/error: .*must not contain a user or password/u);
    expect(yaml).toBe('');
  });

  test('without an answer, writes the examples to fill in', async () => {
    const { result, yaml } = await answered([]);
    expect(result.stdout).toContain('1. fill in your targets in tidemark.yaml');
    expect(parse(yaml).targets).toHaveLength(6);
  });

  test.each([['--json'], ['--quiet'], ['--scheduler', 'http://127.0.0.1:9']])(
    'asks nothing with %s',
    async (...words) => {
      const cwd = await tempFolder();
      const readLine = () => Promise.reject(new Error('asked'));
      const { exit } = await cli(['init', ...words], { cwd, stdinIsTerminal: true, readLine });
      expect(exit).toBe(0);
    },
  );
});
