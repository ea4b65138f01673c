import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeDocument } from './document.ts';
import { parts } from './parts.ts';
import { isMet, type Part, type Result } from './result.ts';

/** `npm run bench` measures every part and writes docs/benchmarks.md; `npm run bench -- PART…` only prints the results of these parts. */
export async function main(names: readonly string[]): Promise<void> {
  const log = (text: string) => process.stderr.write(`${text}\n`);
  const unknown = names.find((name) => !parts.some((part) => part.name === name));
  if (unknown !== undefined) {
    log(`no part ${unknown}; there are:\n${parts.map(({ name, about }) => `  ${name.padEnd(8)} ${about}`).join('\n')}`);
    process.exitCode = 2;
    return;
  }
  const chosen = parts.filter(({ name }) => names.length === 0 || names.includes(name));
  const results: Result[] = [];
  for (const part of chosen) results.push(...(await measure(part, log)));
  if (names.length === 0) await writeDocument(results);
  process.exitCode = results.every(isMet) ? 0 : 1;
}

async function measure(part: Part, log: (text: string) => void): Promise<readonly Result[]> {
  log(`${part.name}: ${part.about}`);
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-'));
  try {
    const results = await part.measure({ folder, log: (text) => log(`  ${text}`) });
    for (const result of results) process.stdout.write(`${formatLine(result)}\n`);
    return results;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function formatLine(result: Result): string {
  const { part, what, measured, against, ratio, aim } = result;
  const verdict = aim === undefined ? '' : `, aim ${aim}: ${isMet(result) ? 'met' : 'MISSED'}`;
  return `${part.padEnd(8)} ${ratio.toFixed(2).padStart(6)}  ${what}: ${measured} against ${against}${verdict}`;
}
