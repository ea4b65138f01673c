import { describe, expect, test } from 'vitest';
import type { DocumentedCommand } from '../../src/cli/define.ts';
import { defineProgram } from '../../src/cli/index.ts';
import { PACKAGE_ROOT, version } from '../../src/core/paths.ts';
import { cli } from '../helpers/cli.ts';

const run = (...words: string[]) => cli(words, { cwd: PACKAGE_ROOT });

const program = await defineProgram();

/** A command with the words that select it. */
interface Selected {
  readonly words: readonly string[];
  readonly command: DocumentedCommand;
}

function listCommands(parent: DocumentedCommand, path: readonly string[]): readonly Selected[] {
  return parent.commands.flatMap((command) => {
    const words = [...path, command.name()];
    return [{ words, command }, ...listCommands(command, words)];
  });
}

const all = listCommands(program, []);

const listExamples = (command: DocumentedCommand) =>
  command.readTexts().examples.match(/(?<=^ {2}# .+\n {2}).+$/gmu) ?? [];

test('help says which options must be given', async () => {
  const { stdout } = await run('findings', 'accept', '--help');
  expect(stdout).toMatch(/--reason <text> +why; required\n/u);
});

describe.each(all.map(({ words, command }) => [words.join(' '), words, command] as const))(
  '%s',
  (_name, words, command) => {
    test('its help has examples and the global options', async () => {
      const { stdout } = await run(...words, '-h');
      for (const line of listExamples(command)) expect(stdout).toContain(`\n  ${line}\n`);
      expect(listExamples(command)).not.toEqual([]);
      for (const option of ['--config <file>', '--json', '--quiet', '--no-color', '--now <timestamp>']) {
        expect(stdout).toContain(`  ${option}`);
      }
      const [, ours = ''] = stdout.split('Global Options:');
      const listed = [...ours.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gmu)].map(([, option]) => option);
      expect(listed).toEqual(program.options.map(({ long }) => long));
      expect(stdout).not.toMatch(/default: (?:\[\]|\{\})/u);
      expect((await run(...words, '--help')).stdout).toBe(stdout);
    });

    test('its examples name commands and options that exist', () => {
      for (const line of listExamples(command)) {
        const [, called = ''] = /^(?:[A-Z_]+=\S+ |source <\()?tidemark ([^|>)]*)/u.exec(line) ?? [];
        const given = called.split(' ');
        const selected = all.findLast((each) => each.words.every((word, index) => given[index] === word));
        expect(selected?.words.slice(0, words.length), line).toEqual(words);
        const known = [...program.options, ...(selected?.command.options ?? [])].flatMap(({ long, short }) => [
          long,
          short,
        ]);
        const options = called.replaceAll(/"[^"]*"|'[^']*'/gu, '').match(/(?<=\s)--?[a-z-]+/gu) ?? [];
        const helpOption = ['-h', '--help'];
        expect(
          options.filter((option) => ![...known, ...helpOption].includes(option)),
          line,
        ).toEqual([]);
      }
    });
  },
);

test('the global options do not show in the help of a command as its own', () => {
  const names = program.options.map(({ long }) => long);
  for (const { command } of all) expect(command.options.filter(({ long }) => names.includes(long))).toEqual([]);
});

test.each([['-h'], ['--help']])('%s prints the help', async (option) => {
  expect(await run(option)).toMatchObject({ exit: 0, stderr: '', stdout: expect.stringMatching(/^Usage: tidemark /u) });
});

test.each([[['-V']], [['--version']], [['pull', '-V']], [['playbook', 'plan', '-V']]])(
  '%j prints the version',
  async (words) => {
    expect(await run(...words)).toMatchObject({ exit: 0, stderr: '', stdout: `${version}\n` });
  },
);
