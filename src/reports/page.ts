import { createHash } from 'node:crypto';
import type { SourceState } from './data.ts';
import { EMPTY_CELL, formatAge, formatTime, truncate } from './format.ts';
import { readTemplate } from './templates.ts';

/** The stylesheet and the script of every page, and the content security policy that allows only these two. */
export interface PageAssets {
  readonly style: string;
  readonly script: string;
  readonly policy: string;
}

export async function loadAssets(roots: readonly string[]): Promise<PageAssets> {
  const [style, script] = await Promise.all([readTemplate(roots, 'style.css'), readTemplate(roots, 'tables.js')]);
  const policy = [
    "default-src 'none'",
    `style-src '${sha256(style)}'`,
    `script-src '${sha256(script)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return { style, script, policy };
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

/** What a page shows of its sources: all of them, the stale ones, and those that were never pulled from any target. */
export interface Freshness {
  readonly sources: readonly SourceView[];
  readonly stale: readonly SourceView[];
  readonly never: readonly string[];
  readonly staleSources: boolean;
}

export function summarizeFreshness(states: readonly SourceState[], stalenessAt: Date): Freshness {
  const sources = states.map((state) => toSourceView(state, stalenessAt));
  const stale = sources.filter((source) => source.stale);
  const never = states.filter(({ status }) => status === 'never').map(({ source }) => source);
  return { sources, stale, never, staleSources: stale.length > 0 };
}

function toSourceView(state: SourceState, stalenessAt: Date): SourceView {
  return {
    target: state.target ?? EMPTY_CELL,
    source: state.source,
    status: state.status,
    as_of: state.as_of === null ? EMPTY_CELL : formatTime(state.as_of),
    age: state.as_of === null ? EMPTY_CELL : formatAge(stalenessAt.getTime() - Date.parse(state.as_of)),
    error: truncate(state.error ?? ''),
    stale: state.stale,
    complete: state.as_of !== null,
  };
}
