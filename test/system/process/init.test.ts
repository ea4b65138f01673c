import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { startSandbox } from '../../../sandbox/index.ts';
import { buildCommand } from '../../helpers/built-command.ts';
import { tempFolder } from '../../helpers/temp.ts';
import { noTerminal, runInTerminal } from '../../helpers/terminal.ts';

if (noTerminal) console.warn(`skipped: init in a terminal: ${noTerminal}`);

describe.skipIf(noTerminal)('init in a pseudo-terminal', () => {
  test('asks which services there are, and writes a configuration of just these', async () => {
    const sandbox = await startSandbox({ workspaces: 5, flavor: 'hashicorp' });
    onTestFinished(() => sandbox.close());
    const { urls, tokens } = sandbox;
    const cwd = await tempFolder();
    await writeFile(join(cwd, '.env'), `VAULT_TOKEN=${tokens.secrets.read}\n`);
    const { exit, shown } = await runInTerminal(
      await buildCommand(),
      ['init'],
      [
        ['HCP Terraform: organization [none]: ', '\n'],
        [`Vault: URL [${urls.secrets}]: `, '\n'],
        ['Nomad: URL [none]: ', 'nomad.internal\n'],
        ['Nomad: URL [none]: ', `${urls.scheduler}\n`],
        ['Nomad Autoscaler: URL [none]: ', '-\n'],
        ['Consul agent: URL [none]: ', '\n'],
        ['registry.terraform.io: URL [none]: ', '\n'],
      ],
      { cwd, env: { VAULT_ADDR: urls.secrets } },
    );
    expect(exit, shown).toBe(0);
    expect(shown).toContain('nomad.internal: is not a URL such as https://host:port');
    expect(shown).toContain('vault: has all sources');
    expect(shown).toMatch(/Next:\r\n {2}1\. set NOMAD_TOKEN .*\r\n {2}2\. .*doctor/u);
    expect(shown).not.toContain(tokens.secrets.read);
    const { targets } = parse(await readFile(join(cwd, 'tidemark.yaml'), 'utf8'));
    expect(targets.map(({ name, kind, url }: Record<string, string>) => [name, kind, url])).toEqual([
      ['vault', 'secrets', urls.secrets],
      ['nomad', 'scheduler', urls.scheduler],
    ]);
  });

  test('Ctrl-C at a question ends with 130 and leaves no file', async () => {
    const cwd = await tempFolder();
    const command = await buildCommand();
    const steps = [
      ['organization [none]: ', 'acme\n'],
      ['its URL [https://app.terraform.io]: ', '\u0003'],
    ] as const;
    const { exit, shown } = await runInTerminal(command, ['init'], steps, { cwd });
    expect([exit, await readdir(cwd)]).toEqual([130, []]);
    expect(shown).toContain('interrupted: nothing was written');
  });

  test('the end of input counts as Enter', async () => {
    const cwd = await tempFolder();
    const { exit } = await runInTerminal(await buildCommand(), ['init'], [['organization [none]: ', '\u0004']], {
      cwd,
    });
    expect([exit, existsSync(join(cwd, 'tidemark.yaml'))]).toEqual([0, true]);
  });

  test('asks nothing where a configuration exists, and keeps it', async () => {
    const cwd = await tempFolder();
    await writeFile(join(cwd, 'tidemark.yaml'), 'mine');
    const { exit, shown } = await runInTerminal(await buildCommand(), ['init'], [], { cwd });
    expect([exit, shown]).toEqual([6, expect.stringContaining('tidemark.yaml already exists')]);
    expect(shown).not.toContain('Which services');
    expect(await readFile(join(cwd, 'tidemark.yaml'), 'utf8')).toBe('mine');
    expect(await readdir(cwd)).toEqual(['tidemark.yaml']);
  });
});
