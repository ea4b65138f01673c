import { drifted, type JsonValue, type Precondition, ready, satisfied } from '../../define.ts';

/** Whether an applied change can be undone: only while everything that was observed is as the action left it. */
export function evaluateUndo(
  observed: JsonValue,
  { before, after }: { readonly before: unknown; readonly after: unknown },
  subject: string,
): Precondition {
  const current = toText(observed);
  if (current === toText(before)) return satisfied(`${subject} is as it was before the action`);
  return current === toText(after) ? ready : drifted(`${subject} was changed since the action`);
}

/** JSON with sorted keys, and with sorted lists of texts: services return those in any order. */
function toText(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (Array.isArray(inner)) return inner.every((item) => typeof item === 'string') ? [...inner].sort() : inner;
    if (typeof inner !== 'object' || inner === null) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
