import type { MessagePort, Worker } from 'node:worker_threads';
import { z } from 'zod';
import { type ErrorCode, errorMessage, TidemarkError } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import { ServiceError } from '../../http/errors.ts';
import { operations } from '../../services/index.ts';
import type { Operation } from '../../services/operation.ts';
import type { ServiceResponse } from '../../services/response.ts';

/** Calls between a plugin's thread and the others: values are copied, and functions become calls to where they are. */

type Remote = (...args: readonly unknown[]) => Promise<unknown>;
type Message =
  | { readonly kind: 'call'; readonly id: number; readonly to: number; readonly args: unknown }
  | { readonly kind: 'result'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly error: WireError };

/** Says that a thread is not busy without an end. */
export const ALIVE = { kind: 'alive' } as const;

/** Marks of what cannot be copied. */
const FUNCTION = '\u0000function';
const RESPONSE = '\u0000response';
const ITERATOR = '\u0000iterator';
const OPERATION = '\u0000operation';

/** An operation as it crosses: of the package by its name, another as it is. */
export const markOperation = (crossed: string | Operation): unknown => ({ [OPERATION]: crossed });

/**
 * Each side makes functions known by a number. Function 0 is the first one that each side gives to the other.
 * @param main what the other side may call first
 */
export function createBridge(port: MessagePort | Worker, main: Remote) {
  const functions: Remote[] = [main];
  const pending = new Map<number, Pending>();
  const answers = new Set<Promise<void>>();
  let calls = 0;
  let isOpen = true;
  const send = (message: Message) => port.postMessage(message);
  const call = (to: number, args: readonly unknown[]): Promise<unknown> => {
    const id = calls++;
    return new Promise((resolve, reject) => {
      pending.set(id, { resolve, reject });
      send({ kind: 'call', id, to, args: encode(args) });
    });
  };
  const encode = (value: unknown): unknown => {
    if (typeof value === 'function') return { [FUNCTION]: functions.push(value as Remote) - 1 };
    if (isResponse(value)) return { [RESPONSE]: { ...value, headers: [...value.headers], json: undefined } };
    if (isIterator(value))
      return { [ITERATOR]: encode({ next: () => value.next(), return: () => value.return(undefined) }) };
    return mapPlain(value, encode);
  };
  const decode = (value: unknown): unknown => {
    if (isMarked(value, FUNCTION)) return (...args: readonly unknown[]) => call(value[FUNCTION] as number, args);
    if (isMarked(value, RESPONSE)) return decodeResponse(value[RESPONSE] as WireResponse);
    if (isMarked(value, ITERATOR)) return { [Symbol.asyncIterator]: () => decode(value[ITERATOR]) };
    if (isMarked(value, OPERATION)) return decodeOperation(value[OPERATION] as string | Operation);
    return mapPlain(value, decode);
  };
  const answer = async (id: number, to: number, args: unknown): Promise<void> => {
    try {
      const value = await functions[to]?.(...(decode(args) as readonly unknown[]));
      send({ kind: 'result', id, value: encode(value) });
    } catch (error) {
      send({ kind: 'error', id, error: encodeError(error) });
    }
  };
  const receive = (message: Message): void => {
    if (message.kind === 'call') {
      const answering = answer(message.id, message.to, message.args);
      answers.add(answering);
      void answering.finally(() => answers.delete(answering));
      return;
    }
    const waiting = pending.get(message.id);
    pending.delete(message.id);
    if (message.kind === 'result') waiting?.resolve(decode(message.value));
    else waiting?.reject(decodeError(message.error));
  };
  port.on('message', (message: Message | typeof ALIVE) => {
    if (isOpen && message.kind !== 'alive') receive(message);
  });
  return {
    /** Calls function 0 of the other side. @throws what it throws */
    main: (...args: readonly unknown[]) => call(0, args),
    /** Calls that wait fail, those of the other side end, and no more are taken. */
    async close(error: unknown): Promise<void> {
      isOpen = false;
      for (const { reject } of pending.values()) reject(error);
      pending.clear();
      await Promise.all(answers);
    },
  };
}

type Pending = Readonly<Record<'resolve' | 'reject', (value: unknown) => void>>;

type WireResponse = Omit<ServiceResponse, 'headers' | 'json'> & { readonly headers: [string, string][] };

function decodeResponse(response: WireResponse): ServiceResponse {
  const json = () => (response.text.trim() === '' ? undefined : parseJson(response.text));
  return { ...response, headers: new Headers(response.headers), json };
}

/** The schema of a body does not cross. */
function decodeOperation(crossed: string | Operation): Operation | undefined {
  if (typeof crossed === 'string') return operations.get(crossed);
  const { body, ...operation } = crossed;
  return { ...operation, ...(body && { body: { ...body, schema: z.unknown() } }) };
}

/** By its fields: the headers are of a class of undici. */
function isResponse(value: unknown): value is ServiceResponse {
  const { headers, text, json } = Object(value) as Partial<ServiceResponse>;
  return typeof text === 'string' && typeof json === 'function' && typeof headers?.get === 'function';
}

function isIterator(value: unknown): value is AsyncGenerator {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

function isMarked(value: unknown, mark: string): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, mark);
}

/** Whether a value is an object of no class. */
export function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Maps what a list or a plain object contains. A field without a value is left out: it would hide a default of the other side. */
export function mapPlain(value: unknown, map: (inner: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(map);
  if (!isPlain(value)) return value;
  const mapped = Object.entries(value).map(([name, inner]) => [name, map(inner)] as const);
  return Object.fromEntries(mapped.filter(([, inner]) => inner !== undefined));
}

interface WireError {
  readonly message: string;
  readonly code?: ErrorCode;
  readonly hint?: string | undefined;
  readonly service?: ConstructorParameters<typeof ServiceError>[0];
}

/** By their fields: a plugin may have the classes of another copy of the package. */
function encodeError(error: unknown): WireError {
  try {
    const message = errorMessage(error);
    const { name, code, hint, details } = Object(error);
    if (name === 'TidemarkError') return { message, code, hint };
    return name === 'ServiceError' ? { message, service: details } : { message: `the plugin failed: ${message}` };
  } catch {
    return { message: 'an error that cannot be read' };
  }
}

function decodeError({ message, code, hint, service }: WireError): Error {
  if (service) return new ServiceError(service);
  return new TidemarkError(code ?? 'INCOMPLETE', message, { hint });
}
