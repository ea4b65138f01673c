import { distance } from 'fastest-levenshtein';
import { TidemarkError } from '../core/errors.ts';

/** The known name closest to a mistyped one, if any is close enough to be meant. */
export function closestMatch(name: string, known: Iterable<string>): string | undefined {
  const lower = name.toLowerCase();
  const ranked = [...known].map((candidate) => ({ candidate, edits: distance(lower, candidate.toLowerCase()) }));
  const [best] = ranked.sort((a, b) => a.edits - b.edits);
  return best && best.edits <= Math.max(2, Math.ceil(name.length / 2)) ? best.candidate : undefined;
}

/** The error for a name that is not one of the known ones, with the closest match. @param hint instead of all known names */
export function unknownName(what: string, name: string, known: Iterable<string>, hint?: string): TidemarkError {
  const names = [...known];
  const closest = closestMatch(name, names);
  return new TidemarkError('USAGE', `unknown ${what} ${name}`, {
    hint: closest ? `did you mean ${closest}?` : (hint ?? `known are ${names.join(', ')}`),
  });
}
