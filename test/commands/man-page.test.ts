import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DocumentedCommand } from '../../src/cli/define.ts';
import { defineProgram } from '../../src/cli/index.ts';
import { formatManPage } from '../../src/cli/man-page.ts';
import { EXIT } from '../../src/core/errors.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { inlineCode, tableRows } from '../helpers/documents.ts';

const program = await defineProgram();
const page = await formatManPage('2026-11-20');
/** The page as it is read: without the escapes of roff. */
const text = page.replaceAll('\\-', '-').replaceAll('\\e', '\\').replaceAll('\\(dq', '"').replaceAll('\\&', '');

function listCommands(parent: DocumentedCommand, path: string): readonly (readonly [string, DocumentedCommand])[] {
  return parent.commands.flatMap((command) => {
    const name = `${path} ${command.name()}`;
    return [[name, command] as const, ...listCommands(command, name)];
  });
}

test.each(listCommands(program, 'tidemark'))(
  '%s is in the manual with its options, arguments and examples',
  (name, command) => {
    const [, section = ''] = new RegExp(`^\\.SS "${name}"\n\\.nf\n(.*?)\n\\.fi$`, 'msu').exec(text) ?? [];
    const lines = section.split('\n');
    expect(lines[0]).toMatch(new RegExp(`^Usage: ${name}\\b`, 'u'));
    for (const { flags } of command.createHelp().visibleOptions(command)) {
      expect(section).toMatch(new RegExp(`^  ${flags.replaceAll(/[[\]().|+*?^$]/gu, '\\$&')} `, 'mu'));
    }
    for (const argument of command.registeredArguments) {
      expect(section).toMatch(new RegExp(`^  ${argument.name()} `, 'mu'));
    }
    // a command to copy may be longer than the page is wide; a sentence may not
    const sentences = section.split('\nExamples:')[0]?.split('\n') ?? [];
    expect(sentences.filter((line) => line.length > 73)).toEqual([]);
    const { examples } = command.readTexts();
    expect(examples).toMatch(/\S/u);
    expect(section).toContain(examples.trimEnd().replaceAll('…', '...'));
  },
);

test('the manual has the global options and every exit status', () => {
  for (const { flags } of program.options) expect(text).toContain(`.B "${flags}"`);
  const [, status = ''] = text.split('.SH EXIT STATUS');
  for (const code of Object.values(EXIT)) expect(status).toContain(`.TP\n.B "${code}"\n`);
});

test('an exit status means in the manual what docs/commands.md says', async () => {
  const document = await readFile(join(PACKAGE_ROOT, 'docs', 'commands.md'), 'utf8');
  const rows = [...document.matchAll(/^\| (\d+) \| (.+) \|$/gmu)];
  expect(rows).toHaveLength(Object.keys(EXIT).length);
  for (const [, code, meaning = ''] of rows) {
    const told = meaning.replaceAll('`', '');
    expect(text).toContain(`.TP\n.B "${code}"\n${told.charAt(0).toUpperCase()}${told.slice(1)}.\n`);
  }
});

test('the manual has the variables of docs/commands.md', () => {
  const [, environment = ''] = text.split('.SH ENVIRONMENT');
  const named = tableRows('docs/commands.md', '| Variable | Meaning |').flatMap(([cell = '']) => inlineCode(cell));
  const variables = named.filter((name) => /^[A-Z_]+$/u.test(name));
  expect(variables.length).toBeGreaterThan(15);
  expect(variables.filter((name) => !environment.includes(name))).toEqual([]);
});

test.for([
  ['man', ['-l', '--warnings', '-E', 'UTF-8', '-']],
  ['groff', ['-man', '-Tutf8', '-ww']],
  ['mandoc', ['-Tlint', '-W', 'warning']],
] as const)('%s renders it without warnings', ([reader, words], context) => {
  const { status, stdout, stderr, error } = spawnSync(reader, words, { input: page, encoding: 'utf8' });
  const { code = '' } = (error as NodeJS.ErrnoException | undefined) ?? {};
  // A folder of the path that this user may not read is reported as EACCES.
  context.skip(['ENOENT', 'EACCES'].includes(code), `${reader} is not installed`);
  expect({ error, status, stderr }).toEqual({ error: undefined, status: 0, stderr: '' });
  if (reader === 'mandoc') expect(stdout).toBe('');
  else expect(stdout).toContain('tidemark playbook approve PLAN');
});
