import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { createLog } from '../../src/core/log.ts';
import { createRedactor } from '../../src/core/redact.ts';
import { createMeter } from '../../src/http/meter.ts';
import type { PullOutcome } from '../../src/pipeline/outcome.ts';
import { terminalProgress } from '../../src/pipeline/terminal-progress.ts';
import { workplace } from '../helpers/sandbox.ts';

interface Screen {
  readonly terminal: NodeJS.WriteStream;
  /** What a person sees: the stream played on a screen. */
  lines(): readonly string[];
  raw(): string;
}

/** A terminal of a size that understands what the drawing sends: line breaks, cursor up, erase line, cursor to the left. */
function screen(columns = 60, rows = 8): Screen {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns, rows }) as unknown as NodeJS.WriteStream;
  let raw = '';
  terminal.on('data', (chunk: Buffer) => {
    raw += chunk.toString('utf8');
  });
  const lines = () => {
    const shown: string[] = [''];
    let row = 0;
    for (const [part] of raw.replaceAll('\u001B', '␛').matchAll(/␛\[\d*[A-Z]|\n|[^␛\n]+/gu)) {
      if (part === '\n') {
        row++;
        shown[row] ??= '';
      } else if (part === '␛[1A') row--;
      else if (part === '␛[2K') shown[row] = '';
      else if (!part.startsWith('␛')) shown[row] += part;
    }
    return shown.filter((line) => line !== '');
  };
  return { terminal, lines, raw: () => raw };
}

const outcome = (source: string, status: PullOutcome['status'] = 'complete'): PullOutcome => ({
  target: 'acme',
  source,
  status,
  rows: 7,
  expected_rows: 7,
  requests: 2,
  retries: 0,
  throttle_wait_ms: 0,
  bytes: 1,
  inserted: 7,
  changed: 0,
  deleted: 0,
  error: status === 'complete' ? null : 'not today',
});

function drawing(columns?: number, rows?: number) {
  const view = screen(columns, rows);
  const log = createLog({ write: (text) => view.terminal.write(text), redactor: createRedactor(), quiet: false });
  let nowMs = 0;
  const progress = terminalProgress({ terminal: view.terminal, log, everyMs: 1, now: () => nowMs });
  const drawn = async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return view.lines();
  };
  const at = (ms: number) => {
    nowMs = ms;
  };
  return { ...view, progress, drawn, at };
}

test('each source under way has a line with its rows, requests, rate and waiting', async () => {
  const { progress, drawn, at } = drawing();
  const meter = createMeter();
  progress.start('acme', 'agents', meter);
  progress.start('vault', 'keys', createMeter());
  Object.assign(meter, { rows: 36, requests: 9, retries: 1, waitedMs: 1234 });
  at(2000);
  expect(await drawn()).toEqual([
    '  acme: agents  36 rows, 9 requests, 4.5/s, 1 repeated, wa…',
    '  vault: keys  0 rows, 0 requests, 0.0/s',
  ]);
  progress.end();
});

test('what ends, and what the log says, goes above the drawing as plain lines; at the end nothing else is left', async () => {
  const { progress, drawn, lines, raw } = drawing();
  const doneAgents = progress.start('acme', 'agents', createMeter());
  const doneKeys = progress.start('vault', 'keys', createMeter());
  progress.log.info('acme: agents: asking again');
  doneAgents(outcome('agents'));
  expect(await drawn()).toEqual([
    'acme: agents: asking again',
    'acme: agents: 7 rows (+7 ~0 -0), 2 requests',
    '  vault: keys  0 rows, 0 requests, 0.0/s',
  ]);
  doneKeys(outcome('keys', 'failed'));
  progress.end();
  expect(lines()).toEqual([
    'acme: agents: asking again',
    'acme: agents: 7 rows (+7 ~0 -0), 2 requests',
    'warning: acme: keys: failed: not today (2 requests)',
  ]);
  expect(raw()).not.toContain('\u001B[?25l'); // the cursor is never hidden, so a kill cannot leave it so
});

test('a screen of few rows shows some, and how many more', async () => {
  const { progress, drawn } = drawing(60, 8);
  for (let index = 0; index < 10; index++) progress.start('acme', `source-${index}`, createMeter());
  const lines = await drawn();
  expect(lines.length).toBe(5);
  expect(lines.at(-1)).toBe('  and 6 more');
  progress.end();
});

test('a pull on a terminal draws there, leaves plain lines, and keeps stdout for the result', async () => {
  const place = await workplace({ workspaces: 5 });
  const { terminal, lines, raw } = screen(100, 40);
  const result = await place.tidemark(['pull', '--json', '--target', 'vault'], { terminal });
  expect(JSON.parse(result.stdout).status).toBe('complete');
  expect(stripVTControlCharacters(raw())).toMatch(/vault: keys {2}\d+ rows, \d+ requests, \d/u);
  expect(lines()).toEqual([]);
  expect(result.stderr).toMatch(/^vault: keys: \d+ rows/mu);
});

test('--quiet draws nothing', async () => {
  const place = await workplace({ workspaces: 5 });
  const { terminal, raw } = screen();
  await place.tidemark(['--quiet', 'pull', '--target', 'vault'], { terminal });
  expect(raw()).toBe('');
});
