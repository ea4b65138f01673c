import { TidemarkError } from '../../../core/errors.ts';
import { type FailureKind, ServiceError } from '../../../http/errors.ts';
import type { UnknownPart } from '../../../landing/store.ts';
import type { ServiceClient } from '../../../services/client.ts';
import type { Operation, OperationArgs } from '../../../services/operation.ts';
import { listItems, type ServiceResponse } from '../../../services/response.ts';
import { type ExtractContext, type ListedObject, type ObjectRequest, requiredString } from '../source.ts';

interface ItemList<T> {
  readonly items: readonly T[];
  /** Lists the items again. */
  readonly relist: () => Promise<readonly T[]>;
  /** Identifies an item. @default the item itself */
  readonly toName?: (item: T) => string;
  /** Names an item in messages, where its name alone does not find it. @default not named: the operation is */
  readonly describe?: (item: T) => string;
  /** The part of an item, where a token may be refused a part of the list. @default a refusal fails the source */
  readonly part?: ListPart<T>;
}

interface ListPart<T> {
  /** `part` of the table. */
  readonly column: string;
  readonly value: (item: T) => string | null;
  /** Whether a failure is of one part. @default a refusal is */
  readonly isRefusal?: (error: ServiceError, item: T) => boolean;
  /** Records that a part is unknown. @default in the landing */
  readonly report?: (value: string | null, reason: string) => void;
}

interface ListAndRead<T> extends ItemList<T> {
  readonly read: (item: T) => Promise<void>;
}

interface ListAndLand<T> extends ItemList<T> {
  /** Distinguishes the lists of a source. */
  readonly name: string;
  readonly index?: string | undefined;
  readonly toName: (item: T) => string;
  /** What the list says of the item. */
  readonly toObject: (item: T) => Omit<ListedObject, 'key'>;
  readonly request: (item: T) => ObjectRequest;
  /** Whether an object is a row of the source's main table, so that the service reports one more. */
  readonly isRow: boolean;
}

/** Writes each object of a list to the landing. What the last pull read is written again where that is proven to be the same. */
export async function listThenLand<T>(context: ExtractContext, list: ListAndLand<T>): Promise<void> {
  const { name, index, items, toName, toObject, request, isRow } = list;
  const objects = items.map((item) => ({ key: toName(item), ...toObject(item) }));
  const reader = await context.objects({ name, index, objects });
  await listThenRead(context, {
    ...list,
    read: async (item) => {
      await reader.land(toName(item), request(item));
      if (isRow) context.landing.expectRows(1);
    },
  });
}

/**
 * Reads each item of a list. A 404 has two possible causes: the item was deleted since it was listed, or the token may not read
 * it. So the items are listed again, and one that is still listed is an error. Where one item of a part is refused, the part is unknown,
 * and no other item of it is asked for.
 */
export async function listThenRead<T>(context: ExtractContext, list: ListAndRead<T>): Promise<void> {
  const { items, relist, read, toName = String, describe, part } = list;
  const missing: T[] = [];
  const refused = new Map<string | null, ServiceError>();
  await context.forEachLimited(items, async (item) => {
    const value = part?.value(item) ?? null;
    if (refused.has(value)) return;
    await read(item).catch((error: unknown) => {
      if (!(error instanceof ServiceError)) throw error;
      const described = describe ? withSubject(error, describe(item)) : error;
      if (error.failure === 'not-found') missing.push(item);
      else if (part && (part.isRefusal ?? isForbidden)(error, item)) refused.set(value, described);
      else throw described;
    });
  });
  if (part) {
    const { column, value: toValue } = part;
    const { report = (value, reason) => context.landing.addUnknown({ column, value, reason }) } = part;
    reportRefused(refused, new Set(items.map(toValue)).size, report);
  }
  if (missing.length === 0) return;
  const listed = new Set((await relist()).map(toName));
  const unreadable = missing.map(toName).find((name) => listed.has(name));
  if (unreadable === undefined) return;
  throw new TidemarkError('DATA', `${unreadable} is listed but returns 404`, {
    hint: 'the token may lack the permission to read it',
  });
}

/** @throws the first refusal if every part is refused: nothing was read */
function reportRefused<T extends string | null>(
  refused: ReadonlyMap<T, ServiceError>,
  parts: number,
  report: (value: T, reason: string) => void,
): void {
  const [first] = refused.values();
  if (first && refused.size === parts) throw first;
  for (const [value, error] of refused) report(value, describeFailure(error));
}

const isForbidden = ({ failure }: ServiceError): boolean => failure === 'forbidden';

/** Failures that concern every part: a token that is not valid, a rate limit, a broken network. */
const COMMON_FAILURES: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'unauthorized',
  'rate-limited',
  'too-long-wait',
  'sealed',
  'unreachable',
  'aborted',
]);

export function isPartFailure(error: unknown): error is ServiceError {
  return error instanceof ServiceError && !COMMON_FAILURES.has(error.failure);
}

/**
 * Makes a call for each part. A refused one is unknown.
 * @throws the first refusal if every part is refused
 */
export async function checkParts<T extends string | null>(
  column: string,
  parts: readonly T[],
  onUnknown: (part: UnknownPart) => void,
  call: (part: T) => Promise<unknown>,
  isRefusal = isForbidden,
): Promise<void> {
  const refused = new Map<T, ServiceError>();
  for (const part of parts) {
    await call(part).catch((error: unknown) => {
      if (!(error instanceof ServiceError) || !isRefusal(error)) throw error;
      refused.set(part, error);
    });
  }
  reportRefused(refused, parts.length, (value, reason) => onUnknown({ column, value, reason }));
}

/** The words of the service, or what happened instead of an answer. */
export function describeFailure({ failure, status, serviceMessage }: ServiceError): string {
  return serviceMessage === '' ? [status, failure].filter(Boolean).join(' ') : serviceMessage;
}

/** The same failure, with the item that could not be read. */
function withSubject(error: ServiceError, subject: string): ServiceError {
  const serviceMessage = [subject, error.serviceMessage].filter((text) => text !== '').join(': ');
  return new ServiceError({ ...error.details, serviceMessage });
}

/** The names that a LIST operation of the secrets service returns. */
export async function listNames(
  { client }: ExtractContext,
  operation: Operation,
  args: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const names = listItems(operation, await client.call(operation, args));
  return names.map((name, index) => requiredString({ key: name }, 'key', operation.name, index));
}

/** Lists names, then writes what reading each of them returns. */
export async function extractNamed(
  context: ExtractContext,
  list: Operation,
  read: Operation,
  args: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { client, once } = context;
  const relist = () => listNames(context, list, args);
  const listName = [list.name, ...Object.values(args)].join(' ');
  await listThenLand(context, {
    name: listName,
    items: await once(listName, relist),
    relist,
    toName: (name) => name,
    toObject: (item) => ({ item }),
    request: (name) => ({
      fields: { ...args, name },
      read: (options) => client.call(read, { ...args, name }, options),
    }),
    isRow: true,
  });
}

/** For services that may send an `ETag`, and have no index in their lists. */
export const CONDITIONAL = {} as const;

/**
 * A check that lists, then reads the first item: permission to list does not include permission to read.
 * @param toArgs what names an item to `read`; undefined when the item cannot be read
 */
export function checkFirst<L extends Operation, R extends Operation>(
  list: L,
  args: OperationArgs<L>,
  read: R,
  toArgs: (item: unknown) => OperationArgs<R> | undefined,
) {
  return async (client: ServiceClient): Promise<ServiceResponse> => {
    const response = await client.call(list, args);
    const [first] = listItems(list, response);
    const readArgs = first === undefined ? undefined : toArgs(first);
    return readArgs === undefined ? response : client.call(read, readArgs);
  };
}

/** `checkFirst` for operations that list and read names. */
export function checkNamed(list: Operation, read: Operation, args: Readonly<Record<string, string>> = {}) {
  return checkFirst(list, args, read, (name) => (typeof name === 'string' ? { ...args, name } : undefined));
}
