import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { TidemarkError } from '../core/errors.ts';
import { findFile } from '../core/paths.ts';
import type { SourceState } from './data.ts';
import { formatTime, NONE, shortened } from './format.ts';

/** The stylesheet and the script that every page holds, and the policy that lets nothing else in. */
export interface PageAssets {
  readonly style: string;
  readonly script: string;
  readonly policy: string;
}

export async function loadAssets(roots: readonly string[]): Promise<PageAssets> {
  const [style, script] = await Promise.all([readAsset(roots, 'style.css'), readAsset(roots, 'tables.js')]);
  const policy = [
    "default-src 'none'",
    `style-src '${sha256(style)}'`,
    `script-src '${sha256(script)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return { style, script, policy };
}

async function readAsset(roots: readonly string[], name: string): Promise<string> {
  const path = findFile(roots, `reports/${name}`);
  if (!path) throw new TidemarkError('DATA', `reports/${name} does not exist`);
  return readFile(path, 'utf8');
}

function sha256(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

export interface SourceView {
  readonly target: string;
  readonly source: string;
  readonly status: string;
  readonly as_of: string;
  readonly age: string;
  readonly error: string;
  readonly stale: boolean;
  readonly complete: boolean;
}

/** What a page says of its sources: all of them, those that are stale, and those that no target ever pulled. */
export interface Freshness {
  readonly sources: readonly SourceView[];
  readonly stale: readonly SourceView[];
  readonly never: readonly string[];
  readonly staleSources: boolean;
}

export function freshnessOf(states: readonly SourceState[], freshAt: Date): Freshness {
  const sources = states.map((state) => sourceView(state, freshAt));
  const stale = sources.filter((source) => source.stale);
  const never = states.filter(({ status }) => status === 'never').map(({ source }) => source);
  return { sources, stale, never, staleSources: stale.length > 0 };
}

function sourceView(state: SourceState, freshAt: Date): SourceView {
  return {
    target: state.target ?? NONE,
    source: state.source,
    status: state.status,
    as_of: state.as_of === null ? NONE : formatTime(state.as_of),
    age: state.as_of === null ? NONE : ageOf(freshAt.getTime() - Date.parse(state.as_of)),
    error: shortened(state.error ?? ''),
    stale: state.stale,
    complete: state.as_of !== null,
  };
}

const MINUTE = 60_000;
const UNITS = [
  { ms: 48 * 60 * MINUTE, one: 24 * 60 * MINUTE, name: 'days' },
  { ms: 2 * 60 * MINUTE, one: 60 * MINUTE, name: 'hours' },
  { ms: 0, one: MINUTE, name: 'minutes' },
] as const;

/** `3 days`, in the largest unit that is told at least twice. */
export function ageOf(ms: number): string {
  const unit = UNITS.find((candidate) => ms >= candidate.ms) ?? UNITS[2];
  return `${Math.max(0, Math.floor(ms / unit.one))} ${unit.name}`;
}
