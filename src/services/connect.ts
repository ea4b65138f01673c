import type { Target } from '../core/config.ts';
import type { Log } from '../core/log.ts';
import { mentionsSecretField, type Redactor } from '../core/redact.ts';
import { type Call, createClient } from '../http/client.ts';
import { type Limiter, limiterFor } from '../http/limiter.ts';
import { createMeter, type Meter } from '../http/meter.ts';
import { failed, type Outcome } from '../http/outcome.ts';
import { readText } from '../http/read-body.ts';
import { ServiceError } from '../http/service-error.ts';
import { DEFAULT_TIMING, type Timing } from '../http/timing.ts';
import { createTransport } from '../http/transport.ts';
import { type Answer, answerOf, type Page, shaped } from './answer.ts';
import { checkCall } from './check.ts';
import { type Downloaded, type Head, saveBody } from './download.ts';
import { isEmptyList, judge } from './judge.ts';
import type { Args, ArgsOf, Operation } from './operation.ts';
import { followPages, type Pairs } from './paging.ts';
import { buildRequest } from './request.ts';
import { registerSecretFields, registerSecrets } from './secrets-in.ts';

export interface ConnectOptions {
  readonly redactor: Redactor;
  readonly log: Log;
  /** Ends every wait and transfer. */
  readonly signal: AbortSignal;
  /** A longer pause that a service demands fails at once (`maxWait`). */
  readonly maxWaitMs: number;
  readonly timing?: Partial<Timing>;
  /** Shared between targets with one credential (`credentialKey`). @default one of the target's own */
  readonly limiter?: Limiter;
  /** Where HTTPS_PROXY, HTTP_PROXY and NO_PROXY are looked up. @default no proxy */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface CallOptions {
  /** Counts requests, retries, waits and bytes. */
  readonly meter?: Meter;
  readonly signal?: AbortSignal;
  /** Request body as the document shows it. */
  readonly body?: unknown;
  /** Use the target's `writeToken`, if it has one. */
  readonly write?: boolean;
}

export interface DownloadOptions extends CallOptions {
  /** Looks at the beginning before a byte is written; what it returns is why the body is not what was asked for. */
  readonly refuse?: (head: Head) => string | undefined;
}

/** One target, ready to be asked. Every method throws ServiceError, or TidemarkError USAGE before anything is sent. */
export interface Service {
  readonly target: Target;
  /** One call; a LIST of nothing answers `{"data":{"keys":[]}}`, an autoscaler that is down answers with status 503. */
  call<O extends Operation>(operation: O, args?: ArgsOf<O>, options?: CallOptions): Promise<Answer>;
  /** Every page of a list; a list without pages is one page. */
  pages<O extends Operation>(operation: O, args?: ArgsOf<O>, options?: CallOptions): AsyncGenerator<Page>;
  /** Streams the answer's body into `file`, emptying it first on each try; never whole in memory. */
  download<O extends Operation>(
    operation: O,
    args: ArgsOf<O>,
    file: string,
    options?: DownloadOptions,
  ): Promise<Downloaded>;
  /** Closes the connections that are kept open. */
  close(): Promise<void>;
}

/** An error's body is read only so far. */
const MAX_ERROR_BYTES = 1024 * 1024;

export function connect(target: Target, options: ConnectOptions): Service {
  const { redactor, log } = options;
  const timing: Timing = { ...DEFAULT_TIMING, ...options.timing };
  const { concurrency } = target.limits;
  const { caFile, clientCert, clientKey } = target;
  const transport = createTransport({
    caFile,
    clientCert,
    clientKey,
    concurrency,
    env: options.env ?? {},
    timing,
    redactor,
  });
  const client = createClient({
    target: target.name,
    transport,
    limiter: options.limiter ?? limiterFor(target),
    concurrency,
    redactor,
    log,
    signal: options.signal,
    maxWaitMs: options.maxWaitMs,
    timing,
  });

  const prepare = (operation: Operation, args: Args, { body, meter, signal }: CallOptions, attemptMs: number): Call => {
    registerSecrets(operation, args, body, redactor);
    checkCall(operation, target, args, body, log);
    return { meter: meter ?? createMeter(), signal, attemptMs };
  };

  const refusal = async (operation: Operation, response: Response, meter: Meter): Promise<Outcome<never>> => {
    const text = redactor.text(await readText(response, MAX_ERROR_BYTES, meter));
    return failed(judge(operation, response.status, response.headers, text));
  };

  const readAnswer = async (
    operation: Operation,
    args: Args,
    response: Response,
    meter: Meter,
  ): Promise<Outcome<Answer>> => {
    const { status, headers } = response;
    const isAnswer = response.ok || (operation.answers === 'health' && status === 503);
    const text = await readText(response, isAnswer ? timing.maxAnswerBytes : MAX_ERROR_BYTES, meter);
    if (isEmptyList(operation, status, text))
      return { ok: true, value: answerOf(200, headers, '{"data":{"keys":[]}}') };
    if (!isAnswer) return failed(judge(operation, status, headers, redactor.text(text)));
    const outcome = shaped(operation, args, answerOf(status, headers, text));
    if (outcome.ok && (operation.secretAnswer || mentionsSecretField(text))) rememberSecrets(outcome.value, redactor);
    return outcome;
  };

  const send = async (
    operation: Operation,
    args: Args,
    callOptions: CallOptions,
    extra: Pairs = [],
  ): Promise<Answer> => {
    const call = prepare(operation, args, callOptions, timing.answerMs);
    const parts = { args, body: callOptions.body, write: callOptions.write ?? false, extra };
    const ask = (other: boolean) =>
      client.send(
        buildRequest(operation, target, { ...parts, other }),
        (response) => readAnswer(operation, args, response, call.meter),
        call,
      );
    return withOtherPath(operation, target, ask);
  };

  return {
    target,
    call: (operation, args, callOptions = {}) => send(operation, argsOf(args), callOptions),
    pages: (operation, args, callOptions = {}) =>
      followPages(operation, target, (extra) => send(operation, argsOf(args), callOptions, extra)),
    async download(operation, given, file, { refuse = () => undefined, ...callOptions } = {}) {
      const args = argsOf(given);
      const call = prepare(operation, args, callOptions, timing.downloadMs);
      const parts = { args, body: callOptions.body, write: callOptions.write ?? false };
      const into = { maxBytes: timing.maxDownloadBytes, meter: call.meter, refuse };
      return withOtherPath(operation, target, (other) =>
        client.send(
          buildRequest(operation, target, { ...parts, other }),
          (response) => (response.ok ? saveBody(response, file, into) : refusal(operation, response, call.meter)),
          call,
        ),
      );
    },
    close: () => transport.close(),
  };
}

/** Typed arguments are checked by name at run time: every declaration's own type fits. */
function argsOf(args: object | undefined): Args {
  return (args ?? {}) as Args;
}

/**
 * Where the real product may serve an operation at another path (live-services.md A5), its flavor tries that first, and
 * either falls back on the other when the answer is 404.
 */
async function withOtherPath<T>(
  { otherPath }: Operation,
  { flavor }: Target,
  ask: (other: boolean) => Promise<T>,
): Promise<T> {
  if (otherPath === undefined) return ask(false);
  const otherFirst = flavor === 'hashicorp';
  try {
    return await ask(otherFirst);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.failure !== 'not-found') throw error;
    return await ask(!otherFirst).catch(() => {
      throw error;
    });
  }
}

/** Generated tokens and private keys: who asked gets them, messages and logs never do. */
function rememberSecrets(answer: Answer, redactor: Redactor): void {
  try {
    registerSecretFields(answer.json(), redactor);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error; // text that only looks like JSON with a secret
  }
}
