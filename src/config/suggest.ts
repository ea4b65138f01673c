import { distance } from 'fastest-levenshtein';
import { TidemarkError } from '../core/errors.ts';

/** The known name closest to a mistyped one, if any is close enough to be meant; or one that contains it, if it is not. */
export function closestMatch(name: string, known: Iterable<string>): string | undefined {
  const lower = name.toLowerCase();
  const ranked = [...known].map((candidate) => ({ candidate, edits: distance(lower, candidate.toLowerCase()) }));
  const [best] = ranked.sort((a, b) => a.edits - b.edits);
  if (best && best.edits <= Math.max(2, Math.ceil(name.length / 2))) return best.candidate;
  return ranked.find(({ candidate }) => candidate.toLowerCase().includes(lower))?.candidate;
}

/** Whether a name is meant to be a known one: it has a letter more or less, or is long and differs in two. */
export function isMisspelt(name: string, known: readonly string[]): boolean {
  return known.some((one) => {
    const edits = distance(name, one);
    return name.length > 6 ? edits <= 2 : edits === 1 && name.length !== one.length;
  });
}

/** Names in a message: more say no more. */
const MAX_NAMES = 30;

/** A hint for an unknown name: `did you mean X?`, or the known names. @param advice instead of their list */
export function suggestName(name: string, known: Iterable<string>, advice?: string): string {
  const names = [...known];
  const closest = closestMatch(name, names);
  if (closest) return `did you mean ${closest}?`;
  const more = names.length > MAX_NAMES ? ', …' : '';
  return advice ?? (names.length > 0 ? `known are ${names.slice(0, MAX_NAMES).join(', ')}${more}` : 'there are none');
}

/** The error for an unknown name. @param advice as for `suggestName` */
export function unknownName(what: string, name: string, known: Iterable<string>, advice?: string): TidemarkError {
  return new TidemarkError('USAGE', `unknown ${what} ${name}`, { hint: suggestName(name, known, advice) });
}

/** The one that has a name. @throws TidemarkError USAGE as `unknownName` says it */
export function findNamed<T extends { readonly name: string }>(
  all: readonly T[],
  what: string,
  name: string,
  advice?: string,
): T {
  const names = all.map((each) => each.name);
  const found = all[names.indexOf(name)];
  if (found) return found;
  throw unknownName(what, name, names, advice);
}
