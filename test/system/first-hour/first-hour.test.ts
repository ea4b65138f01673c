import { existsSync } from 'node:fs';
import { appendFile, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import axe from 'axe-core';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { defineProgram } from '../../../src/cli/index.ts';
import { DAY_MS } from '../../../src/core/clock.ts';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { findViolations, launchBrowser, noBrowser, openOwnPage } from '../../helpers/browser.ts';
import { cli } from '../../helpers/cli.ts';
import { startMailServer } from '../../helpers/mail-server.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';
import { noTerminal } from '../../helpers/terminal.ts';
import { createNewcomer, type Newcomer, type ServedTarget, type ShellRun, serveSandbox } from './newcomer.ts';

const atEnd = cleanAtEnd();
const CTRL_D = '\u0004';
/** Fewer nights than without the option: test/long plays those, the incident among them. */
const NIGHTS = 2;
const DEMO = `tidemark demo --runs ${NIGHTS} --workspaces 40`;
const noClone = existsSync(join(PACKAGE_ROOT, '.git')) ? undefined : 'this is no checkout of git';
for (const reason of [noTerminal, noClone]) {
  if (reason !== undefined) console.warn(`skipped: a part of the first hour: ${reason}`);
}

let newcomer: Newcomer;
/** What `tidemark demo` printed to the terminal, a line each. */
let demo: readonly string[];
/** The folder where `tidemark init` runs. */
let project: string;

const toLines = (text: string) => text.replaceAll('\r', '').split('\n');

/** Runs lines of bash, which must succeed. Returns stdout. */
async function succeed(line: string, cwd?: string): Promise<string> {
  const { exit, stdout, stderr } = await newcomer.shell(line, cwd);
  expect(exit, `${line}\n${stdout}${stderr}`).toBe(0);
  expect(stderr, line).not.toMatch(/warning:|error:/u);
  return stdout;
}

/** The code blocks of a language in a document. */
const readBlocks = (text: string, language: string) =>
  [...text.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'gu'))].map(([, block]) => block ?? '');

/** Opens a page in a browser. Returns its lead sentence, and the violations of accessibility rules. */
async function lookAt(file: string): Promise<{ readonly lead: string; readonly violations: readonly string[] }> {
  const browser = await launchBrowser();
  onTestFinished(() => browser.close());
  const page = await openOwnPage(browser, { viewport: { width: 390, height: 844 } });
  await page.goto(`file://${file}`);
  await page.evaluate(axe.source);
  return {
    lead: (await page.locator('.headline bdi').textContent()) ?? '',
    violations: await findViolations(page),
  };
}

/** The steps run in this order, each on what those before it left. */
describe.skipIf(noClone !== undefined)('the first hour', () => {
  beforeAll(async () => {
    newcomer = await createNewcomer(atEnd);
    project = join(newcomer.home, 'estate');
    await mkdir(project);
  });

  describe('in a clean clone', () => {
    let played: ShellRun;
    const status = async () =>
      JSON.parse(await succeed('npx tidemark --config demo/tidemark.yaml status --json', newcomer.clone));
    beforeAll(async () => {
      played = await newcomer.shell(`npm run demo -- --runs ${NIGHTS} --workspaces 20`, newcomer.clone);
    });

    test('the demo runs without an installation, and the clone stays clean', async () => {
      expect(played.exit, played.stderr).toBe(0);
      expect(await succeed('git status --porcelain', newcomer.clone)).toBe('');
    });

    test('the demo has a line for each night and leaves a warehouse and reports', async () => {
      const nights = toLines(played.stderr).filter((line) => line.startsWith('night '));
      expect(nights).toHaveLength(NIGHTS);
      expect(nights[0]).toMatch(/^night {2}1 {2}\w{3} \d\d \w{3} {2}the first night: .* \d+ findings in 30 sources$/u);
      expect(nights[1]).toMatch(/findings: \+\d+ −\d+$/u);
      expect(played.stderr + played.stdout).not.toContain('\u001B');
      for (const file of ['demo/out/index.html', 'demo/data/warehouse.duckdb']) {
        expect(played.stdout).toContain(file);
        expect(existsSync(join(newcomer.clone, file)), file).toBe(true);
      }
      const index = await readFile(join(newcomer.clone, 'demo', 'out', 'index.html'), 'utf8');
      for (const report of ['drift', 'version-sprawl', 'check-failure', 'agent-health'])
        expect(index).toContain(report);
    });

    test('its last night is less than a day ago, and every source is fresh', async () => {
      const { runs, sources } = await status();
      const newest = Date.parse(runs[0].started_at);
      expect(Date.now() - newest).toBeLessThan(DAY_MS + 15 * 60_000);
      expect(runs.length).toBe(NIGHTS);
      expect(sources.filter(({ stale }: { stale: boolean }) => stale)).toEqual([]);
    });

    test('it ends with three commands for a checkout, the first of which succeeds as printed', async () => {
      const [, next = ''] = played.stdout.split('\nNext\n');
      const lines = toLines(next).filter((line) => line.trim() !== '');
      const words = lines.map((line) => line.slice(line.indexOf('node bin/tidemark.js ')));
      expect(words).toEqual(
        Array.from({ length: 3 }, () => expect.stringMatching(/^node bin\/tidemark\.js --config /u)),
      );
      expect(toLines((await succeed(words[0] ?? '', newcomer.clone)).trim()).length).toBeGreaterThan(1);
    });

    test('the commands and queries of docs/first-night.md that name no real service work on the demo', async () => {
      const cwd = join(newcomer.clone, 'demo');
      const text = await readFile(join(newcomer.clone, 'docs', 'first-night.md'), 'utf8');
      const lines = readBlocks(text, 'sh').join('').split('\n');
      const own = lines
        .map((line) => line.split(/ > | && |\s+#/u)[0] ?? '')
        .filter((line) => /^tidemark (?!init)/u.test(line));
      expect(own.length).toBeGreaterThan(5);
      for (const line of own) {
        const { exit, stderr } = await cli(line.trim().split(/\s+/u).slice(1), { cwd });
        expect(exit, `${line}\n${stderr}`).toBe(0);
      }
      for (const query of readBlocks(text, 'sql')) {
        await writeFile(join(cwd, 'query.sql'), query);
        expect((await cli(['sql', '-f', 'query.sql'], { cwd })).exit, query).toBe(0);
      }
      const counts = [...text.matchAll(/`(select [^`]*)`/gu)].map(([, query]) => query ?? '');
      expect(counts.length).toBeGreaterThan(5);
      for (const query of counts) expect((await cli(['sql', query], { cwd })).exit, query).toBe(0);
    });
  });

  test('the installed command prints its version and its help, has a page for `man`, and completes words', async () => {
    const { version } = JSON.parse(await readFile(join(newcomer.clone, 'package.json'), 'utf8'));
    expect(await succeed('tidemark --version')).toBe(`${version}\n`);
    const help = await succeed('tidemark --help');
    for (const command of (await defineProgram()).commands) expect(help).toContain(`\n  ${command.name()} `);
    const page = await readFile(join(newcomer.prefix, 'share', 'man', 'man1', 'tidemark.1'), 'utf8');
    expect(page).toContain(`"tidemark ${version}"`);
    const complete = 'COMP_WORDS=(tidemark stat); COMP_CWORD=1; _tidemark; echo "$COMPREPLY"; complete -p tidemark';
    expect(await succeed(`source <(tidemark completion bash); ${complete}`)).toMatch(/^status\ncomplete .*tidemark$/mu);
  });

  describe.skipIf(noTerminal !== undefined)('on a terminal', () => {
    test('the demo plays, and ends with three commands that work as printed', async () => {
      const { exit, shown } = await newcomer.terminal(DEMO);
      expect(exit, shown).toBe(0);
      demo = toLines(shown);
      expect(demo.filter((line) => line.startsWith('night '))).toHaveLength(NIGHTS);
      expect(shown).not.toContain('\u001B');
      const next = demo.slice(demo.indexOf('Next') + 1).filter((line) => line !== '');
      expect(next).toHaveLength(3);
      expect(next.join()).not.toMatch(/npx|node /u);
      for (const line of next) {
        const command = line.slice(line.indexOf('tidemark '));
        const result = await newcomer.terminal(command);
        expect(result.exit, result.shown).toBe(0);
        expect(toLines(result.shown).length, command).toBeGreaterThan(3);
        expect(result.shown).not.toMatch(/warning:|error:/u);
      }
    });

    test('a plan names the commands that come next, which work as printed', async () => {
      const plan = demo.findLast((line) => line.includes('playbook plan ')) ?? '';
      const { stderr } = await newcomer.shell(plan.slice(plan.indexOf('tidemark ')));
      const [show = '', approve = ''] = [...stderr.matchAll(/`(tidemark [^`]*)`/gu)].map(([, command]) => command);
      expect(await succeed(show)).toContain('\nnot approved');
      const { exit, stderr: hint } = await newcomer.shell(approve.replace('NAME', '"A. Reviewer"'));
      expect([exit, hint]).toEqual([0, expect.stringMatching(/^apply it with `tidemark --config .* apply p-\S+`\n$/u)]);
    });

    let targets: ReadonlyMap<string, ServedTarget>;
    test('init asks which services there are, and says what to do next', async () => {
      targets = await serveSandbox(newcomer, atEnd);
      const answer = (name: string) => `${targets.get(name)?.url}\n`;
      const { exit, shown } = await newcomer.terminal(
        'tidemark init',
        [
          ['organization [none]: ', 'acme\n'],
          ['its URL', answer('acme')],
          ['Vault: URL', answer('vault')],
          ['Nomad: URL', answer('nomad')],
          ['Autoscaler: URL', answer('scaler')],
          ['Consul agent: URL', answer('consul')],
          ['registry.terraform.io: URL', '\n'],
        ],
        project,
      );
      expect(exit, shown).toBe(0);
      expect(shown).toContain('1. set TFE_TOKEN, VAULT_TOKEN, NOMAD_TOKEN in .env, a copy of .env.example');
      expect(shown).toContain('2. run `tidemark doctor`');
    });

    test('doctor first names what is missing, then what to do next', async () => {
      const missing = await newcomer.shell('tidemark doctor', project);
      expect([missing.exit, missing.stderr]).toEqual([2, expect.stringContaining('TFE_TOKEN is not set; export it')]);
      const example = await readFile(join(project, '.env.example'), 'utf8');
      const names: Readonly<Record<string, string>> = { TFE: 'acme', VAULT: 'vault', NOMAD: 'nomad' };
      const filled = example.replaceAll(
        /^(\w+)_TOKEN=$/gmu,
        (line, name: string) => `${line}${targets.get(names[name] ?? '')?.token}`,
      );
      await writeFile(join(project, '.env'), filled);
      const { exit, shown } = await newcomer.terminal('tidemark doctor', [], project);
      expect(exit, shown).toBe(0);
      expect(shown).not.toMatch(/^FAIL/mu);
      expect(toLines(shown).slice(-2)[0]).toContain('run `tidemark run nightly`');
    });

    test('the first night is complete, and status shows it', async () => {
      expect((await newcomer.terminal('tidemark pull --target vault', [], project)).exit).toBe(0);
      const { exit, shown } = await newcomer.terminal('tidemark run nightly', [], project);
      expect(exit, shown).toBe(0);
      expect(shown).toMatch(/run \S+: complete, (\d+) of \1 sources complete/u);
      const status = await newcomer.terminal('tidemark status', [], project);
      expect(status.shown).toMatch(/ nightly +complete /u);
      expect(status.shown).not.toMatch(/failed|true/u);
    });

    test('sql prints a table, and opens a shell', async () => {
      const query = 'select count(*) as workspaces from workspaces';
      const { shown } = await newcomer.terminal(`tidemark sql "${query}"`, [], project);
      expect(toLines(shown)).toEqual(['workspaces', '        30', '(1 row)', '']);
      const steps = [
        ['tidemark> ', `${query};\r`],
        ['(1 row)', CTRL_D],
      ] as const;
      const shell = await newcomer.terminal('tidemark sql', steps, project);
      expect([shell.exit, shell.shown]).toEqual([0, expect.stringMatching(/workspaces\r\n +30\r\n\(1 row\)/u)]);
    });
  });

  test('the playbook of README works on the demo as printed; applying it again says so in one line', async () => {
    if (noTerminal !== undefined) await succeed(DEMO);
    const readme = await readFile(join(newcomer.clone, 'README.md'), 'utf8');
    const section = readme.slice(readme.indexOf('\n## Applying changes\n'));
    const example = /```sh\n([\s\S]*?)\n```/u.exec(section)?.[1] ?? '';
    expect(example.match(/^tidemark playbook (?:plan|show|approve|apply|undo) /gmu)).toHaveLength(5);
    const shown = await succeed(example);
    expect(shown, 'show prints the API call').toMatch(
      /^ {2}(?:POST|PUT|PATCH|DELETE) http:\/\/127\.0\.0\.1:\d+\/v1\/\S+$/mu,
    );
    expect(shown, 'and the difference').toMatch(/^ {2}[-+~] /mu);
    expect(shown).toMatch(/^1 applied$/mu);
    const again = await succeed('tidemark playbook apply plan.json', join(newcomer.home, 'demo'));
    expect(again).toMatch(/^plan \S+ is finished, nothing to do: 1 applied\n$/u);
    // The next command starts the services with what the last one changed.
    const next = await newcomer.shell('tidemark playbook plan trim-anonymous-policy', join(newcomer.home, 'demo'));
    expect(next.stdout).not.toContain('reduce ACL policy');
  });

  test.skipIf(noBrowser !== undefined)(
    'the overview leads with a sentence that has no accessibility violation',
    async () => {
      const folder = join(newcomer.home, 'demo');
      const written = toLines(await succeed('tidemark report overview', folder));
      const { lead, violations } = await lookAt(written.find((line) => line.endsWith('overview.html')) ?? '');
      expect(lead).toMatch(/^\d+ critical findings open, \d+ warnings/u);
      expect(violations).toEqual([]);
    },
  );

  test('the digest is previewed without a mail server, and reaches a real one', async () => {
    const folder = join(newcomer.home, 'demo');
    const preview = await succeed('tidemark mail nightly --dry-run', folder);
    expect(preview).toMatch(/^Subject: Tidemark acme: \d+ critical/mu);
    const server = await startMailServer();
    await copyFile(join(folder, 'tidemark.yaml'), join(folder, 'mail.yaml'));
    await appendFile(
      join(folder, 'mail.yaml'),
      `mail:\n  smtp: smtp://127.0.0.1:${server.port}\n  from: Tidemark <reports@acme.example>\n`,
    );
    await succeed('tidemark --config mail.yaml mail nightly --to team@acme.example', folder);
    expect(server.received.map(({ recipients }) => recipients)).toEqual([['team@acme.example']]);
    expect(`Subject: ${server.received[0]?.mail.subject}`).toBe(/^Subject: .*$/mu.exec(preview)?.[0]);
  });
});
