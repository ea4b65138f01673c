import type { Config } from '../core/config.ts';
import { headerText } from '../core/mail-address.ts';
import type { Audience } from './audience.ts';
import { changeOf, type NumberRow } from './numbers.ts';
import type { DigestData } from './read.ts';

const MOST_NAMES = 3;
const MOST_PHRASES = 4;
const LONGEST_SUBJECT = 150;

/** `Tidemark acme: 14 drifting (+3 −1), 2 pools down`: whose, and the answer. */
export function subjectOf(config: Pick<Config, 'targets'>, audience: Audience, data: DigestData): string {
  return headerText(`Tidemark ${whoseOf(config, audience, data)}: ${answerOf(audience, data)}`, LONGEST_SUBJECT);
}

/** The platforms' names, since that is what an estate is called by, or where there is none those of all targets; then the projects. */
export function whoseOf({ targets }: Pick<Config, 'targets'>, audience: Audience, data: DigestData): string {
  const mine = targets.filter(({ name }) => data.targets.includes(name));
  const platforms = mine.filter(({ kind }) => kind === 'platform');
  const names = (platforms.length > 0 ? platforms : mine).map(({ name }) => name);
  const whose = names.length <= MOST_NAMES ? names.join(', ') : `${names.length} targets`;
  const projects = [...new Set(audience.routes.flatMap((route) => route.projects ?? []))];
  const part = projects.length <= MOST_NAMES ? projects.join(', ') : `${projects.length} projects`;
  return [whose || 'nothing known', part && `(${headerText(part, 60)})`].filter(Boolean).join(' ');
}

/** The numbers that are not at rest, in their order; `all quiet` where all are, unless a route's projects match nothing. */
export function answerOf(audience: Audience, data: DigestData): string {
  const { numbers, sources } = data;
  const stale = sources.filter((source) => source.stale === true).length;
  const phrases = [...numbers]
    .sort((a, b) => a.subjectOrder - b.subjectOrder)
    .flatMap(phraseOf)
    .slice(0, MOST_PHRASES);
  if (sources.length === stale) return ['no fresh data', ...phrases].join(', ');
  const staleWords = stale > 0 ? [stale === 1 ? '1 stale source' : `${stale} stale sources`] : [];
  const answer = [...phrases, ...staleWords];
  if (answer.length > 0) return answer.join(', ');
  return matchesNothing(audience, data) ? 'no such workspaces' : 'all quiet';
}

/** Whether the patterns of a part meet no target, or no workspace where they name projects alone: nothing is not quiet. */
export function matchesNothing({ whole, routes }: Audience, { targets, workspaces }: DigestData): boolean {
  if (whole) return false;
  return targets.length === 0 || (workspaces === 0 && routes.every(({ projects }) => projects !== null));
}

function phraseOf(number: NumberRow): readonly string[] {
  const { words, value } = number;
  const change = changeOf(number).replace('no change', '');
  if (!words || (value === 0 && !change)) return [];
  return [`${value} ${value === 1 ? words.one : words.many}${change ? ` (${change})` : ''}`];
}
