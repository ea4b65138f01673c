import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Measured, writeDocument } from './document.ts';
import { parts } from './parts.ts';
import { type Bench, isMet, type Part, type Result, type Size, Skipped } from './result.ts';

const USAGE = 'npm run bench -- [--quick | --large] [--update] [PART…]';

/**
 * Without parts, measures all of them and writes docs/benchmarks.md; with parts, prints their results. `--update` writes the rows
 * of these parts. Exits with 1 if an aim is missed, or a part fails.
 */
export async function main(argv: readonly string[]): Promise<void> {
  const options = readOptions(argv);
  if (typeof options === 'string') {
    log(options);
    process.exitCode = 2;
    return;
  }
  const { chosen, size, isWritten } = options;
  const estates = await mkdtemp(join(tmpdir(), 'tidemark-estates-'));
  const measured: Measured[] = [];
  const failed: string[] = [];
  try {
    for (const part of chosen) {
      // The other parts do not depend on it, and a run takes long.
      const one = await measure(part, { size, estates }).catch((error: Error) => {
        log(`  ${error.stack}`);
      });
      if (one) measured.push(one);
      else failed.push(part.name);
      // After each part: what is measured is kept if a later part fails.
      if (isWritten) await writeDocument(measured, NAMES);
    }
  } finally {
    await rm(estates, { recursive: true });
  }
  if (failed.length > 0) log(`failed: ${failed.join(', ')}`);
  const isMissed = !measured.every(({ results }) => results.every(isMet));
  process.exitCode = isMissed || failed.length > 0 ? 1 : 0;
}

const NAMES = parts.map(({ name }) => name);

const log = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

interface Options {
  readonly chosen: readonly Part[];
  readonly size: Size;
  readonly isWritten: boolean;
}

/** @returns a message when the arguments are not valid */
export function readOptions(argv: readonly string[]): Options | string {
  const flags = { quick: { type: 'boolean' }, large: { type: 'boolean' }, update: { type: 'boolean' } } as const;
  const known = [...argv]
    .filter((argument) => argument.startsWith('-'))
    .every((argument) => argument.slice(2) in flags);
  if (!known) return `usage: ${USAGE}`;
  const { values, positionals } = parseArgs({ args: [...argv], options: flags, allowPositionals: true });
  const unknown = positionals.find((name) => !parts.some((part) => part.name === name));
  if (unknown !== undefined) {
    return `no part ${unknown}; there are:\n${parts.map(({ name, about }) => `  ${name.padEnd(9)} ${about}`).join('\n')}`;
  }
  const size = values.quick ? 'quick' : values.large ? 'large' : 'usual';
  if (size === 'quick' && values.update) return 'results of --quick are not written: they say nothing about speed';
  const isWritten = size !== 'quick' && (values.update === true || positionals.length === 0);
  const chosen = parts.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  return { chosen, size, isWritten };
}

async function measure(part: Part, run: Pick<Bench, 'size' | 'estates'>): Promise<Measured> {
  const { name, about } = part;
  const [loadBefore = Number.NaN] = loadavg();
  log(`${name}: ${about} (load ${loadBefore.toFixed(2)})`);
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-'));
  const at = new Date();
  const measured = (results: readonly Result[]) => {
    return { name, about, results, loadBefore, at };
  };
  try {
    const results = await part.measure({ ...run, folder, log: (text) => log(`  ${text}`) });
    for (const result of results) process.stdout.write(`${formatLine(name, result)}\n`);
    log(`  took ${Math.round((Date.now() - at.getTime()) / 1000)} s`);
    return measured(results);
  } catch (error) {
    if (!(error instanceof Skipped)) throw error;
    log(`  skipped: ${error.message}`);
    return { ...measured([]), skipped: error.message };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function formatLine(part: string, result: Result): string {
  const { what, measured, against, ratio, range, aim } = result;
  const spread = range ? ` [${range[0].toFixed(2)}–${range[1].toFixed(2)}]` : '';
  const verdict = aim === undefined ? '' : `, aim ${aim}: ${isMet(result) ? 'met' : 'MISSED'}`;
  return `${part.padEnd(9)} ${ratio.toFixed(2).padStart(6)}${spread}  ${what}: ${measured} against ${against}${verdict}`;
}
