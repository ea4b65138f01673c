import type { z } from 'zod';

/** What a type of zod is called in messages. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of keys',
  record: 'a map of keys',
};

/** Says in plain words what is wrong with a value; a message that its schema has wins. The value is not repeated: it may be a secret. */
export function explainIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'too_small')
    return `must be ${bound(issue, issue.inclusive ? 'at least' : 'above', issue.minimum)}`;
  if (issue.code === 'too_big') return `must be ${bound(issue, issue.inclusive ? 'at most' : 'below', issue.maximum)}`;
  if (issue.code !== 'invalid_type') return undefined;
  if (issue.input === undefined) return 'is required';
  const form = `must be ${TYPES[issue.expected] ?? issue.expected}`;
  return issue.input === null ? `is empty; ${form}` : form;
}

/** `at most 10 characters long`, `above 0` */
function bound({ origin }: { readonly origin: string }, relation: string, limit: number | bigint): string {
  const unit: Readonly<Record<string, string>> = { string: ' characters long', array: ' items long' };
  return `${relation} ${limit}${unit[origin] ?? ''}`;
}
