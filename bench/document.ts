import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { arch, cpus, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../src/core/paths.ts';
import { version } from '../src/version.ts';
import { met, type Result } from './result.ts';

/** Writes docs/benchmarks.md: the table with machine, versions and the command that made it. */
export async function writeDocument(results: readonly Result[]): Promise<void> {
  await writeFile(join(PACKAGE_ROOT, 'docs', 'benchmarks.md'), documentOf(results));
}

function documentOf(results: readonly Result[]): string {
  const rows = results.map((result) => {
    const { part, what, measured, against, ratio, aim } = result;
    const judged = aim === undefined ? ['', ''] : [`≤ ${aim}`, met(result) ? 'met' : '**missed**'];
    return `| ${[part, what, measured, against, ratio.toFixed(2), ...judged].join(' | ')} |`;
  });
  return `# Benchmarks

Made by \`npm run bench\`, which writes this file; \`npm run bench -- PART\` measures one part and prints its lines. What counts is the
ratio: both sides of it were measured in one run on one machine, each in a process of its own, medians of several rounds taken in turn.

| Part | What | Measured | Held against | Ratio | Aim | |
|---|---|---|---|---|---|---|
${rows.join('\n')}

Machine: ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${Math.round(totalmem() / 1024 ** 3)} GiB, ${platform()} ${arch()}.
Versions: tidemark ${version}, Node ${process.versions.node}, @duckdb/node-api ${installed('@duckdb/node-api')}.
`;
}

function installed(name: string): string {
  const file = join(PACKAGE_ROOT, 'node_modules', name, 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
