import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { arch, cpus, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import { PACKAGE_ROOT, version } from '../src/core/paths.ts';
import { isMet, type Result } from './result.ts';

/** Writes docs/benchmarks.md: the results, the machine and the versions. */
export async function writeDocument(results: readonly Result[]): Promise<void> {
  await writeFile(join(PACKAGE_ROOT, 'docs', 'benchmarks.md'), formatDocument(results));
}

function formatDocument(results: readonly Result[]): string {
  const rows = results.map((result) => {
    const { part, what, measured, against, ratio, aim } = result;
    const verdict = aim === undefined ? ['', ''] : [`≤ ${aim}`, isMet(result) ? 'met' : '**missed**'];
    return `| ${[part, what, measured, against, ratio.toFixed(2), ...verdict].join(' | ')} |`;
  });
  return `# Benchmarks

\`npm run bench\` writes this file; \`npm run bench -- PART\` measures one part and prints its results. The ratios matter, not the
times: both sides of a ratio run on one machine, alternately and in separate processes. Each value is the median of several rounds.

| Part | What | Measured | Reference | Ratio | Aim | |
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
