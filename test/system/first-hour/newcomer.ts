import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { type Cleanup, tempFolder } from '../../helpers/temp.ts';
import { runProgramInTerminal, type TerminalRun } from '../../helpers/terminal.ts';

const execute = promisify(execFile);

export interface ShellRun {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Someone who has a clone, and `tidemark` on the path: installed from the tarball that the clone packs. */
export interface Newcomer {
  readonly clone: string;
  readonly home: string;
  /** Where npm installed the package. */
  readonly prefix: string;
  readonly env: NodeJS.ProcessEnv;
  /** Runs a line of bash. */
  shell(line: string, cwd?: string): Promise<ShellRun>;
  /** Runs a line of bash in a pseudo-terminal. */
  terminal(
    line: string,
    steps?: readonly (readonly [wait: string, type: string])[],
    cwd?: string,
  ): Promise<TerminalRun>;
}

/** The variables of this process without those that npm and the tests set. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:npm_|VITEST|NODE_ENV)/u.test(name)));
}

/** Clones what is committed, installs, builds and packs it, and installs the tarball for all users of a folder. */
export async function createNewcomer(cleanup: Cleanup): Promise<Newcomer> {
  const folder = await tempFolder(cleanup);
  const [clone, home, prefix] = ['clone', 'home', 'prefix'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await mkdir(home);
  const run = (program: string, words: readonly string[], cwd: string) =>
    execute(program, words, { cwd, env: plainEnvironment() });
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline'];
  await run('git', ['clone', '--quiet', '--no-hardlinks', PACKAGE_ROOT, clone], folder);
  await run('npm', ['ci', ...quiet], clone);
  const { stdout: packed } = await run('npm', ['pack', '--silent'], clone);
  const tarball = join(clone, packed.trim().split('\n').at(-1) ?? '');
  await run('npm', ['install', '--global', '--prefix', prefix, ...quiet, tarball], folder);
  const env = {
    ...plainEnvironment(),
    PATH: [join(prefix, 'bin'), process.env.PATH].join(delimiter),
    HOME: home,
    NO_COLOR: '1',
    PAGER: 'cat',
  };
  return {
    clone,
    home,
    prefix,
    env,
    shell: (line, cwd = home) => runShell(line, { cwd, env }),
    terminal: (line, steps = [], cwd = home) => runProgramInTerminal(['bash', '-c', line], steps, { cwd, env }),
  };
}

async function runShell(line: string, options: { cwd: string; env: NodeJS.ProcessEnv }): Promise<ShellRun> {
  try {
    return { exit: 0, ...(await execute('bash', ['-ec', line], options)) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { exit: code, stdout, stderr };
  }
}

export interface ServedTarget {
  readonly name: string;
  readonly url: string;
  readonly token?: string;
}

/** Starts `tidemark sandbox` as a process. Returns the targets of the configuration that it prints. */
export async function serveSandbox(
  { env, home }: Newcomer,
  cleanup: Cleanup,
): Promise<ReadonlyMap<string, ServedTarget>> {
  const words = ['sandbox', '--flavor', 'hashicorp', '--workspaces', '30', '--rate', '1000'];
  const served = spawn('tidemark', words, { cwd: home, env });
  const ended = new Promise<void>((resolve) => served.once('close', () => resolve()));
  cleanup(async () => {
    served.kill('SIGTERM');
    await ended;
  });
  const printed = await readConfiguration(served);
  const { targets } = parse(printed) as { targets: ServedTarget[] };
  return new Map(targets.map((target) => [target.name, target]));
}

/** What the sandbox prints to stdout before it says on stderr that it serves. */
async function readConfiguration(served: ChildProcess): Promise<string> {
  let stdout = '';
  let stderr = '';
  served.stdout?.on('data', (text) => {
    stdout += text;
  });
  await new Promise<void>((resolve, reject) => {
    served.stderr?.on('data', (text) => {
      stderr += text;
      if (stderr.includes('serving')) resolve();
    });
    served.once('close', () => reject(new Error(`the sandbox ended: ${stderr}`)));
  });
  return stdout;
}
