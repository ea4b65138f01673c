import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CliRun, cli } from '../helpers/cli.ts';

export interface ApiInput {
  /** Text of `tidemark.yaml`. */
  readonly config: string;
  readonly json?: boolean;
  readonly stdin?: string;
  readonly terminal?: boolean;
  /** Resolves when stdout takes more. */
  readonly drain?: () => Promise<void>;
}

/** Runs `tidemark api WORDS` in this process, in a temporary folder with the configuration. */
export async function runApi(words: readonly string[], input: ApiInput): Promise<CliRun> {
  const cwd = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  writeFileSync(join(cwd, 'tidemark.yaml'), input.config);
  const isTerminal = input.terminal ?? false;
  try {
    return await cli([...(input.json ? ['--json'] : []), 'api', ...words], {
      cwd,
      stdin: input.stdin ?? '',
      stdinIsTerminal: isTerminal,
      screen: isTerminal ? { columns: 80, rows: 24 } : undefined,
      ...(input.drain && { drain: input.drain }),
    });
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}
