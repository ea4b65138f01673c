import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { registerFindings } from '../../src/commands/findings.ts';
import { frozenClock } from '../../src/core/clock.ts';
import type { Context } from '../../src/core/context.ts';
import { EXIT, TidemarkError } from '../../src/core/errors.ts';
import { createLog } from '../../src/core/log.ts';
import { createRedactor } from '../../src/core/redact/redactor.ts';
import { publishFile, warehouseFiles } from '../../src/warehouse/publish.ts';
import { createFindingsWarehouse, type FindingsWarehouse } from './findings-warehouse.ts';

/** Some hours after the last night. */
const NOW = '2026-11-19T08:00:00Z';

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `tidemark findings …` in this process over the configuration of `directory`. */
export async function findings(
  directory: string,
  args: readonly string[],
  options: { json?: boolean; now?: string } = {},
): Promise<CommandResult> {
  let out = '';
  let err = '';
  let code: number = EXIT.done;
  const redactor = createRedactor();
  const write = (text: string) => {
    err += text;
  };
  const context: Context = {
    cwd: directory,
    env: {},
    readStdin: async () => '',
    readLine: async () => '',
    stdinIsTerminal: false,
    stdoutIsTerminal: false,
    stdout: (text) => {
      out += text;
    },
    stderr: write,
    terminal: undefined,
    color: false,
    json: options.json ?? false,
    quiet: false,
    configFile: 'tidemark.yaml',
    clock: frozenClock(new Date(options.now ?? NOW)),
    log: createLog({ write, redactor, quiet: false }),
    redactor,
    exit: (given) => {
      code = given;
    },
    signal: new AbortController().signal,
  };
  const program = new Command().exitOverride().configureOutput({ writeOut: write, writeErr: write });
  registerFindings(program, () => context);
  try {
    await program.parseAsync(['findings', ...args], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) code = EXIT.usage;
    else if (error instanceof TidemarkError) {
      code = error.exit;
      err += error.message + (error.hint ?? '');
    } else throw error;
  }
  return { code, out, err };
}

/** A configuration with an empty data folder. */
export async function emptyProject(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tidemark-command-'));
  await mkdir(join(directory, 'data/work'), { recursive: true });
  const target = (name: string, kind: string) =>
    `  - { name: ${name}, kind: ${kind}, url: "http://127.0.0.1:1", organization: o, token: t }\n`;
  await writeFile(
    join(directory, 'tidemark.yaml'),
    `targets:\n${target('acme', 'platform')}${target('vault', 'secrets')}`,
  );
  return directory;
}

/** Plays nights into the working warehouse, and publishes it. */
export async function publishWarehouse(
  directory: string,
  cleanup: (clean: () => Promise<void>) => void,
  play: (warehouse: FindingsWarehouse) => Promise<void>,
): Promise<void> {
  const files = warehouseFiles(join(directory, 'data'));
  const warehouse = await createFindingsWarehouse({ file: files.work, cleanup });
  await play(warehouse);
  warehouse.database.close();
  await publishFile(files.work, files.published, 0o644);
}
