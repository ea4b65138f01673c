import { z } from 'zod';
import { canonicalJson } from '../../../core/canonical-json.ts';
import { valueAt } from '../../../core/json-path.ts';
import type { ActionDeclaration, Change, JsonValue, Precondition, UndoDeclaration } from '../../define.ts';
import { defineAction, drifted, ready, satisfied, unknown } from '../../define.ts';

/** A call that sets fields of a subject, without what it sets them to. */
type SettingCall = Pick<ActionDeclaration<unknown, JsonValue, string>, 'operation' | 'params' | 'reads' | 'observe'>;

interface RestoredFields<Names extends z.ZodRawShape, Fields extends z.ZodRawShape> {
  /** The inputs of the call that name the subject, and tell it from another one of that name. */
  readonly names: z.ZodObject<Names>;
  /** As the reasons name it. */
  readonly subject: string;
  /** What the ledger must have as `before`. */
  readonly fields: z.ZodObject<Fields>;
  /** Whether the subject was found as the call leaves it. Someone else may have changed it before that was read. */
  readonly isLeft: (after: never, inputs: never) => boolean;
  readonly body: (before: z.output<z.ZodObject<Fields>>, names: z.output<z.ZodObject<Names>>) => unknown;
  readonly summary: (names: z.output<z.ZodObject<Names>>, before: z.output<z.ZodObject<Fields>>) => string;
}

/** The undo of a call that sets fields of a subject, whatever the action takes and observes: the same call with what they were. */
export function restoreFields<Names extends z.ZodRawShape, Fields extends z.ZodRawShape>(
  call: SettingCall,
  { names, subject, fields, isLeft, body, summary }: RestoredFields<Names, Fields>,
): UndoDeclaration<never, never> {
  const states = z.object({ before: fields, after: z.json() });
  const action = defineAction(z.object({ ...names.shape, ...states.shape }), {
    ...call,
    body: (inputs) => body(states.parse(inputs).before, names.parse(inputs)),
    change: (inputs) => {
      const { before, after } = states.parse(inputs);
      return { before: after, after: before };
    },
    evaluate: (observed, inputs) => evaluateUndo(observed, states.parse(inputs), subject),
  });
  return {
    action,
    needs: [...Object.keys(fields.shape).map((name) => `before.${name}`), 'after'],
    inputs: ({ inputs, before, after }) => {
      if (!isLeft(after, inputs)) return `${subject} was changed by someone else before the action was confirmed`;
      return { ...names.parse(inputs), before, after };
    },
    summary: ({ inputs, ...state }) => summary(names.parse(inputs), states.parse(state).before),
  };
}

/** The one item that a call added to a list; undefined where the ledger does not show which. `id`: the field with its ID. */
export function findAdded<T>(before: readonly T[] | null, after: readonly T[] | null, id: keyof T): T | undefined {
  const known = new Set(before?.map((item) => item[id]));
  const added = (after ?? []).filter((item) => !known.has(item[id]));
  return added.length === 1 ? added[0] : undefined;
}

/** Whether an applied change can be undone: only while everything that was observed is as the action left it. */
export function evaluateUndo(observed: JsonValue, { before, after }: Change, subject: string): Precondition {
  const current = toText(observed);
  if (current === toText(before)) return satisfied(`${subject} is as it was before the action`);
  if (current === toText(after)) return ready;
  const missing = Object.entries(observed ?? {}).find(
    ([name, value]) => value === null && valueAt(after, name) !== null,
  );
  return missing
    ? unknown(`its \`${missing[0]}\` is not reported`)
    : drifted(`${subject} was changed since the action`);
}

/** JSON with sorted keys, and with sorted lists of texts: services return those in any order. */
function toText(value: unknown): string {
  return canonicalJson(value, (list) => (list.every((item) => typeof item === 'string') ? [...list].sort() : list));
}
