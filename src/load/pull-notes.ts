import { describePart, listUnknown, type Manifest } from '../landing/store.ts';

/** Whether a pull lacks a part that its service can list. */
export function isPartial(manifest: Manifest, acceptDrop = false): boolean {
  return listUnknown(manifest, acceptDrop).some(({ isUnsupported = false }) => !isUnsupported);
}

const MAX_NOTES = 5;
/** Each unknown part is named, and has a line of its own in `unknown_parts` anyway. */
const MAX_NAMED_PARTS = 200;

/** The notes of a landing: its unknown parts, in one note, before the others. */
export function manifestNotes(manifest: Manifest, acceptDrop: boolean): readonly string[] {
  const { notes = [] } = manifest;
  const missing = listUnknown(manifest, acceptDrop)
    .filter(({ isUnsupported = false }) => !isUnsupported)
    .map(describePart);
  return missing.length === 0 ? notes : [joinNotes(missing, MAX_NAMED_PARTS), ...notes];
}

/** The notes of a load on one line; null when there are none. */
export function formatNotes(notes: readonly string[]): string | null {
  return notes.length === 0 ? null : joinNotes(notes, MAX_NOTES);
}

function joinNotes(notes: readonly string[], limit: number): string {
  const others = notes.length > limit ? [`${notes.length - limit} more`] : [];
  return [...notes.slice(0, limit), ...others].join('; ');
}
