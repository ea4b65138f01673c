import { printJson } from '../../http/json.ts';
import type { Row, Value } from '../../warehouse/values.ts';
import type { Guide } from './guide.ts';

/** Why a finding exists, and what ends it: the same in a terminal and on the page of its subject. */
export interface Explanation {
  /** What its rule finds. */
  readonly meaning: string;
  /** The values that the rule read. */
  readonly saw: readonly { readonly name: string; readonly value: string }[];
  readonly ends: string;
}

/** @param guide undefined where the rule is not there any more */
export function explainFinding({ state, detail }: Row, guide: Guide | undefined): Explanation {
  const ends = guide?.ends ?? 'nothing evaluates it any more';
  const saw = Object.entries((detail ?? {}) as Readonly<Record<string, Value>>);
  return {
    meaning: guide?.meaning ?? 'this rule is not there any more',
    saw: saw.map(([name, value]) => ({ name, value: formatSeen(value) })),
    ends: state === 'resolved' ? 'it is resolved' : ends,
  };
}

function formatSeen(value: Value): string {
  return typeof value === 'string' ? value : printJson(value).replaceAll(/\s+/gu, ' ');
}
