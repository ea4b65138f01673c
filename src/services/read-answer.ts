import { mentionsSecretField, type Redactor } from '../core/redact.ts';
import { failed, type Outcome } from '../http/outcome.ts';
import { type Arriving, readText } from '../http/read-body.ts';
import { type Answer, answerOf, shaped } from './answer.ts';
import { isEmptyList, judge } from './judge.ts';
import type { Args, Operation } from './operation.ts';
import { registerSecretFields } from './secrets-in.ts';

/** An error's body is read only so far. */
const MAX_ERROR_BYTES = 1024 * 1024;

export interface Reading {
  readonly operation: Operation;
  readonly args: Args;
  readonly redactor: Redactor;
  readonly maxBytes: number;
}

/** Reads an answer to its end: in the form that the operation promises, or a problem. */
export async function readAnswer(response: Response, arriving: Arriving, reading: Reading): Promise<Outcome<Answer>> {
  const { operation, args, redactor, maxBytes } = reading;
  const { status, headers } = response;
  const isAnswer = response.ok || (operation.answers === 'health' && status === 503);
  if (!isAnswer) return readOther(response, arriving, reading);
  const text = await readText(response, { ...arriving, maxBytes });
  const outcome = shaped(operation, args, answerOf(status, headers, text));
  // The platform's 17 operations answer with no secret; its pages are many and large.
  if (outcome.ok && operation.kind !== 'platform' && mentionsSecretField(text))
    rememberSecrets(outcome.value, redactor);
  return outcome;
}

/** What an answer means that is no success; a LIST of nothing is one after all. */
async function readOther(response: Response, arriving: Arriving, reading: Reading): Promise<Outcome<Answer>> {
  const { status, headers } = response;
  const text = await readText(response, { ...arriving, maxBytes: MAX_ERROR_BYTES });
  if (!isEmptyList(reading.operation, status, text)) return refused(reading, status, headers, text);
  return { ok: true, value: answerOf(200, headers, '{"data":{"keys":[]}}') };
}

export async function readRefusal(response: Response, arriving: Arriving, reading: Reading): Promise<Outcome<never>> {
  const text = await readText(response, { ...arriving, maxBytes: MAX_ERROR_BYTES });
  return refused(reading, response.status, response.headers, text);
}

/** Redacted before its words are taken: their white space is folded, which would hide a key of several lines. */
function refused({ operation, redactor }: Reading, status: number, headers: Headers, text: string): Outcome<never> {
  return failed(judge(operation, status, headers, redactor.text(text)));
}

/** Generated tokens and private keys: who asked gets them, messages and logs never do. */
function rememberSecrets(answer: Answer, redactor: Redactor): void {
  try {
    registerSecretFields(answer.json(), redactor);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error; // text that only looks like JSON with a secret
  }
}
