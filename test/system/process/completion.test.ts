import { execFile, spawnSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { buildCommand } from '../../helpers/built-command.ts';
import { cleanAtEnd, tempFolder } from '../../helpers/temp.ts';

const atEnd = cleanAtEnd();
let cwd: string;
let env: NodeJS.ProcessEnv;

/** A folder with a configuration, and `tidemark` on the path. */
beforeAll(async () => {
  cwd = await tempFolder(atEnd);
  await mkdir(join(cwd, 'bin'));
  await symlink(await buildCommand(), join(cwd, 'bin', 'tidemark'));
  await writeFile(
    join(cwd, 'tidemark.yaml'),
    'targets: [{ name: acme, kind: platform }, { name: acme-eu, kind: platform }]\n',
  );
  env = { ...process.env, HOME: cwd, TERM: 'dumb', PATH: [join(cwd, 'bin'), process.env.PATH].join(delimiter) };
});

async function run(program: string, ...words: string[]): Promise<string> {
  return (await promisify(execFile)(program, words, { cwd, env, timeout: 600_000 })).stdout;
}

const isMissing = (shell: string) => spawnSync(shell, ['--version']).status !== 0;
const reason = (shell: string) => `${shell} is not installed`;

describe('bash', () => {
  const candidates = async (...words: string[]) => {
    const script = `source <(tidemark completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tidemark; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return (await run('bash', '--norc', '-c', script, 'bash', ...words)).split('\n').slice(0, -1);
  };

  test('completes commands, options and names', async (context) => {
    context.skip(isMissing('bash'), reason('bash'));
    expect(await candidates('tidemark', 'pu')).toEqual(['pull']);
    expect(await candidates('tidemark', 'pull', '--target', '')).toEqual(['acme', 'acme-eu']);
    expect(await candidates('tidemark', 'pull', '--target', '=', 'acme-')).toEqual(['acme-eu']);
    expect(await candidates('tidemark', 'findings', '--sev')).toEqual(['--severity']);
    expect(await candidates('tidemark', 'playbook', 'plan', 'reap')).toEqual(['reap-dead-agents']);
  });

  test('a tab on a terminal completes the word', async (context) => {
    context.skip(isMissing('bash'), reason('bash'));
    context.skip(isMissing('script'), reason('script'));
    const typed = "PS1='$ '; source <(tidemark completion bash)\ntidemark playbook plan reap\t; echo typed\nexit\n";
    const { stdout } = spawnSync('script', ['-qec', 'bash --norc --noprofile -i', '/dev/null'], {
      cwd,
      env,
      input: typed,
      encoding: 'utf8',
    });
    expect(stdout).toContain('tidemark playbook plan reap-dead-agents ; echo typed');
  });
});

test('zsh completes commands, options and names on a terminal', async (context) => {
  context.skip(isMissing('zsh'), reason('zsh'));
  const typed = [
    ['tidemark pul', 'tidemark pull '],
    ['tidemark playbook plan reap', 'tidemark playbook plan reap-dead-agents '],
    ['tidemark pull --target acme-', 'tidemark pull --target acme-eu '],
  ];
  const script = `
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell "PS1='> '; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -d $PWD/dump; source <(tidemark completion zsh); print rea''dy"
    zpty -r -m shell seen '*ready*'
    for typed completed in ${typed.map(([before, after]) => `'${before}' '${after}'`).join(' ')}; do
      zpty -w -n shell "$typed"$'\\t'
      zpty -r -m shell seen "*$completed*"
      print -r -- "$seen"
      zpty -w -n shell $'\\x15'
    done
    zpty -d shell`;
  const stdout = await run('zsh', '-f', '-c', script);
  for (const [, completed] of typed) expect(stdout).toContain(completed);
});

test('fish completes commands, options and names, with descriptions', async (context) => {
  context.skip(isMissing('fish'), reason('fish'));
  const complete = async (line: string) => {
    const script = 'tidemark completion fish | source; complete -C $argv[1]';
    return (await run('fish', '--no-config', '-c', script, line)).split('\n').slice(0, -1);
  };
  expect(await complete('tidemark pul')).toEqual(['pull\textract from the targets and load the warehouse']);
  expect(await complete('tidemark pull --target ')).toEqual(['acme\tplatform', 'acme-eu\tplatform']);
  expect(await complete('tidemark playbook plan reap')).toEqual(['reap-dead-agents']);
  expect(await complete('tidemark --config tide')).toEqual(['tidemark.yaml']);
});
