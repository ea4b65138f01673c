import type { MessagePort, Worker } from 'node:worker_threads';
import { type ErrorCode, errorMessage, TidemarkError } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import { ServiceError } from '../../http/errors.ts';
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

/** Each side makes functions known by a number. Function 0 is the first one that each side gives to the other. */
export class Bridge {
  readonly #port: MessagePort | Worker;
  readonly #functions: Remote[] = [];
  readonly #pending = new Map<number, Pending>();
  readonly #answers = new Set<Promise<void>>();
  #calls = 0;
  #isOpen = true;

  /** @param main what the other side may call first */
  constructor(port: MessagePort | Worker, main: Remote) {
    this.#port = port;
    this.#functions.push(main);
    port.on('message', (message: Message | typeof ALIVE) => {
      if (this.#isOpen && message.kind !== 'alive') this.#receive(message);
    });
  }

  /** Calls function 0 of the other side. @throws what it throws */
  main: Remote = (...args) => this.#call(0, args);

  /** Calls that wait fail, those of the other side end, and no more are taken. */
  async close(error: unknown): Promise<void> {
    this.#isOpen = false;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    await Promise.all(this.#answers);
  }

  #call(to: number, args: unknown): Promise<unknown> {
    const id = this.#calls++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#port.postMessage({ kind: 'call', id, to, args: this.#encode(args) } satisfies Message);
    });
  }

  #receive(message: Message): void {
    if (message.kind === 'call') {
      const answer = this.#answer(message.id, message.to, message.args);
      this.#answers.add(answer);
      void answer.finally(() => this.#answers.delete(answer));
      return;
    }
    const waiting = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.kind === 'result') waiting?.resolve(this.#decode(message.value));
    else waiting?.reject(decodeError(message.error));
  }

  async #answer(id: number, to: number, args: unknown): Promise<void> {
    try {
      const value = await this.#functions[to]?.(...(this.#decode(args) as readonly unknown[]));
      this.#port.postMessage({ kind: 'result', id, value: this.#encode(value) } satisfies Message);
    } catch (error) {
      this.#port.postMessage({ kind: 'error', id, error: encodeError(error) } satisfies Message);
    }
  }

  #encode(value: unknown): unknown {
    if (typeof value === 'function') return { [FUNCTION]: this.#functions.push(value as Remote) - 1 };
    if (isResponse(value)) return { [RESPONSE]: { ...value, headers: [...value.headers], json: undefined } };
    return mapPlain(value, (inner) => this.#encode(inner));
  }

  #decode(value: unknown): unknown {
    if (isMarked(value, FUNCTION)) {
      const to = value[FUNCTION] as number;
      return (...args: readonly unknown[]) => this.#call(to, args);
    }
    if (isMarked(value, RESPONSE)) return decodeResponse(value[RESPONSE] as WireResponse);
    return mapPlain(value, (inner) => this.#decode(inner));
  }
}

type Pending = Readonly<Record<'resolve' | 'reject', (value: unknown) => void>>;

type WireResponse = Omit<ServiceResponse, 'headers' | 'json'> & { readonly headers: [string, string][] };

function decodeResponse(response: WireResponse): ServiceResponse {
  const json = () => (response.text.trim() === '' ? undefined : parseJson(response.text));
  return { ...response, headers: new Headers(response.headers), json };
}

/** By its fields: the headers are of a class of undici. */
function isResponse(value: unknown): value is ServiceResponse {
  const { headers, text, json } = Object(value) as Partial<ServiceResponse>;
  return typeof text === 'string' && typeof json === 'function' && typeof headers?.get === 'function';
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
