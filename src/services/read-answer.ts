import { mayContainSecret, type Redactor } from '../core/redact/redactor.ts';
import { failure, type Result } from '../http/outcome.ts';
import { type BodyProgress, readText } from '../http/response-body.ts';
import { classifyError, isEmptyList } from './classify-error.ts';
import type { Args, Operation } from './operation.ts';
import { checkShape, type ServiceResponse, toResponse } from './response.ts';
import { collectSecretFields } from './secrets-in.ts';

/** An error's body is read only so far. */
const MAX_ERROR_BYTES = 1024 * 1024;

export interface ReadContext {
  readonly operation: Operation;
  readonly args: Args;
  readonly redactor: Redactor;
  readonly maxBytes: number;
}

/** Reads an answer to its end: in the form that the operation promises, or a problem. */
export async function readResponse(
  response: Response,
  arriving: BodyProgress,
  reading: ReadContext,
): Promise<Result<ServiceResponse>> {
  const { operation, args, redactor, maxBytes } = reading;
  const { status, headers } = response;
  const isAnswer = response.ok || (operation.responseType === 'health' && status === 503);
  if (!isAnswer) return readNonSuccess(response, arriving, reading);
  const text = await readText(response, { ...arriving, maxBytes });
  const outcome = checkShape(operation, args, toResponse(status, headers, text));
  // The platform's 17 operations answer with no secret; its pages are many and large.
  if (outcome.ok && operation.kind !== 'platform' && mayContainSecret(text))
    collectResponseSecrets(outcome.value, redactor);
  return outcome;
}

/** What an answer means that is no success; a LIST of nothing is one after all. */
async function readNonSuccess(
  response: Response,
  arriving: BodyProgress,
  reading: ReadContext,
): Promise<Result<ServiceResponse>> {
  const { status, headers } = response;
  const text = await readText(response, { ...arriving, maxBytes: MAX_ERROR_BYTES });
  if (!isEmptyList(reading.operation, status, text)) return toFailure(reading, status, headers, text);
  return { ok: true, value: toResponse(200, headers, '{"data":{"keys":[]}}') };
}

export async function readErrorResponse(
  response: Response,
  arriving: BodyProgress,
  reading: ReadContext,
): Promise<Result<never>> {
  const text = await readText(response, { ...arriving, maxBytes: MAX_ERROR_BYTES });
  return toFailure(reading, response.status, response.headers, text);
}

/** Redacted before its words are taken: their white space is folded, which would hide a key of several lines. */
function toFailure(
  { operation, redactor }: ReadContext,
  status: number,
  headers: Headers,
  text: string,
): Result<never> {
  return failure(classifyError(operation, status, headers, redactor.text(text)));
}

/** Generated tokens and private keys: who asked gets them, messages and logs never do. */
function collectResponseSecrets(answer: ServiceResponse, redactor: Redactor): void {
  try {
    collectSecretFields(answer.json(), redactor);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error; // text that only looks like JSON with a secret
  }
}
