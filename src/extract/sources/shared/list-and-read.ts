import { isDeepStrictEqual } from 'node:util';
import { TidemarkError } from '../../../core/errors.ts';
import { textAt } from '../../../core/json-path.ts';
import { type FailureKind, ServiceError } from '../../../http/errors.ts';
import type { UnknownPart } from '../../../landing/store.ts';
import type { ServiceClient } from '../../../services/client.ts';
import { keepPages } from '../../../services/kept-pages.ts';
import type { Operation, OperationArgs } from '../../../services/operation.ts';
import { IncompleteListError } from '../../../services/pagination.ts';
import { listItems, type ResponsePage, type ServiceResponse } from '../../../services/response.ts';
import {
  type ExtractContext,
  type ListedObject,
  type ObjectRequest,
  type OnUnknown,
  optionalString,
  requiredString,
  type SourceDefinition,
} from '../source.ts';
import { MAX_READINGS, toChangingList } from './snapshot-pages.ts';

/** A part of the rows of a source. */
export type Part = Omit<UnknownPart, 'reason'>;

/** How a token may be refused a part of a list. */
interface Parts<T> {
  /** The part of an item. @default a refusal fails the source */
  readonly toPart?: (item: T) => Part;
  /** Whether a failure is of the part of an item. @default a refusal is */
  readonly isRefusal?: (error: ServiceError, item: T) => boolean;
}

interface ListAndRead<T extends { readonly key: string }> extends Parts<T> {
  readonly items: readonly T[];
  /** Lists the items again. */
  readonly relist: () => Promise<readonly { readonly key: string }[]>;
  readonly read: (item: T) => Promise<void>;
  /**
   * Takes back what the list alone says of an item that was deleted since: of such a half, rules would conclude what never was.
   * @default nothing: reading it makes all of its rows
   */
  readonly onGone?: (item: T) => Promise<void> | void;
  /** Names an item in messages. @default its key, in those of `OF_ONE_ANSWER` */
  readonly describe?: (item: T) => string;
}

interface ListAndLand<T extends ListedObject> extends Omit<ListAndRead<T>, 'read'> {
  /** Distinguishes the lists of a source. */
  readonly name: string;
  readonly index?: string | undefined;
  readonly request: (item: T) => ObjectRequest;
  /** Whether an object is a row of the source's main table, so that the service reports one more. */
  readonly isRow: boolean;
}

/** Writes each object of a list to the landing. What the last pull read is written again where that is proven to be the same. */
export async function listThenLand<T extends ListedObject>(context: ExtractContext, list: ListAndLand<T>) {
  const { name, index, request, isRow } = list;
  const items = [...new Map(list.items.map((item) => [item.key, item])).values()]; // a service may list an object twice
  const reader = await context.objects({ name, index, objects: items });
  const read = async (item: T) => {
    await reader.land(item.key, request(item));
    if (isRow) context.landing.expectRows(1);
  };
  await listThenRead(context, { ...list, items, read });
}

/**
 * Reads each item of a list. A 404 has two possible causes: the item was deleted since it was listed, or the token may not read
 * it. So the items are listed again: one that is still listed is an error, and any other is gone.
 */
export async function listThenRead<T extends { readonly key: string }>(
  context: ExtractContext,
  { items, relist, read, describe, onGone, ...parts }: ListAndRead<T>,
): Promise<void> {
  const missing: T[] = [];
  const readListed = (item: T) =>
    read(item).catch((error: unknown) => {
      if (!(error instanceof ServiceError)) throw error;
      const subject = describe?.(item) ?? (OF_ONE_ANSWER.includes(error.failure) ? item.key : '');
      if (error.failure !== 'not-found') throw withSubject(error, subject);
      missing.push(item);
    });
  await readParts(items, parts, (part) => context.landing.addUnknown(part), readListed, context.forEachLimited);
  if (missing.length === 0) return;
  const listed = new Set((await relist()).map(({ key }) => key));
  const unreadable = missing.find(({ key }) => listed.has(key));
  if (unreadable) {
    throw new TidemarkError('DATA', `${unreadable.key} is listed but is not found`, {
      hint: 'the token may lack the permission to read it',
    });
  }
  for (const item of missing) await onGone?.(item);
}

/** For `onGone`, where another source has the rows of the list: the rows of the part stay until that source has seen its end as well. */
export function leavePart({ landing }: Pick<ExtractContext, 'landing'>, column: string) {
  const reason = 'it was deleted while it was read';
  return ({ key: value }: { readonly key: string }) =>
    landing.addUnknown({ column, value, reason, isUnsupported: true });
}

/**
 * Reads items of several parts. Where one item of a part is refused, the part is unknown, and no other item of it is asked for.
 * @throws the first refusal if every part is refused: nothing was read
 */
export async function readParts<T>(
  items: readonly T[],
  { toPart, isRefusal = ({ failure }) => failure === 'forbidden' }: Parts<T>,
  onUnknown: OnUnknown,
  read: (item: T) => Promise<unknown>,
  forEach: ExtractContext['forEachLimited'] = forEachInTurn,
): Promise<void> {
  const nameOf = (item: T) => JSON.stringify(toPart?.(item));
  const refused = new Map<string, { readonly part: Part; readonly error: ServiceError }>();
  await forEach(items, async (item) => {
    if (refused.has(nameOf(item))) return;
    await read(item).catch((error: unknown) => {
      if (!toPart || !(error instanceof ServiceError) || !isRefusal(error, item)) throw error;
      refused.set(nameOf(item), { part: toPart(item), error });
    });
  });
  const [first] = refused.values();
  if (first && refused.size === new Set(items.map(nameOf)).size) throw first.error;
  for (const { part, error } of refused.values()) onUnknown(toUnknown(part, describeFailure(error)));
}

async function forEachInTurn<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (const item of items) await work(item);
}

export function toUnknown(part: Part, reason: string): UnknownPart {
  const where = part.within ? `in ${part.within.column} ${part.within.value}: ` : '';
  return { ...part, reason: `${where}${reason}` };
}

/** Failures that concern every part: a token that is not valid, a rate limit, a broken network. */
const COMMON: readonly FailureKind[] = [
  'unauthorized',
  'rate-limited',
  'too-long-wait',
  'sealed',
  'unreachable',
  'aborted',
];

/** Failures that may be of one answer alone: which one, only its name tells. */
const OF_ONE_ANSWER: readonly FailureKind[] = ['malformed', 'too-large', 'truncated', 'server'];

export function isPartFailure({ failure }: ServiceError): boolean {
  return !COMMON.includes(failure);
}

/** @throws the first failure where not one of several parts answers: the cause is the service */
export function assertServiceAnswers(parts: number, failures: readonly ServiceError[]): void {
  const [first] = failures;
  if (first && parts > 1 && failures.length === parts) throw first;
}

/** The words of the service, or what happened instead of an answer. */
export function describeFailure({ failure, status, serviceMessage }: ServiceError): string {
  return serviceMessage === '' ? [status, failure].filter(Boolean).join(' ') : serviceMessage;
}

/** The same failure, with the item that could not be read. */
function withSubject(error: ServiceError, subject: string): ServiceError {
  if (subject === '') return error;
  const serviceMessage = [subject, error.serviceMessage].filter((text) => text !== '').join(': ');
  const Kind = error instanceof IncompleteListError ? IncompleteListError : ServiceError; // a changing list is read once more
  return new Kind({ ...error.details, serviceMessage });
}

/** The names that a LIST operation of the secrets service returns. */
export async function listNames({ client }: ExtractContext, operation: Operation, args: Names = {}) {
  const names = listItems(operation, await client.call(operation, args));
  return names.map((item, row) => ({ key: requiredString({ key: item }, 'key', operation.name, row), item }));
}

/** What names an object in a path, beside its own name. */
type Names = Readonly<Record<string, string>>;

/** Lists names, then writes what reading each of them returns. @param param of `read`, for the name of an object */
export async function extractNamed(
  context: ExtractContext,
  { list, read, check }: NamedObjects,
  args: Names = {},
  param = 'name',
): Promise<void> {
  const relist = () => listNames(context, list, args);
  const name = [list.name, ...Object.values(args)].join(' ');
  await listThenLand(context, {
    name,
    items: await context.once(name, relist),
    relist,
    request: ({ key }) => {
      const fields = { ...args, [param]: key };
      return {
        fields,
        read: (options) => context.client.call(read, fields, options),
        ...(check && { check: (response) => check(response, key) }),
      };
    },
    isRow: true,
  });
}

interface NamedObjects {
  readonly list: Operation;
  readonly read: Operation;
  /** Throws if the response for a name cannot be read. */
  readonly check?: (response: ServiceResponse, name: string) => void;
}

/** A source of the secrets service whose objects are listed and read by their names. */
export function namedSource(name: string, operations: NamedObjects): SourceDefinition {
  return {
    name,
    kind: 'secrets',
    operations: [operations.list, operations.read],
    extract: (context) => extractNamed(context, operations),
    checkAccess: checkFirst(operations.list, operations.read),
  };
}

/** Every item of a list, with the texts of its pages, and its index. */
export async function listAll<O extends Operation>({ client }: ExtractContext, operation: O, args?: OperationArgs<O>) {
  const pages: ResponsePage[] = [];
  for await (const page of keepPages(client).pages(operation, args)) pages.push(page);
  return { items: pages.flatMap(({ items }) => items), texts: pages.map(({ text }) => text), index: listIndex(pages) };
}

/**
 * Every item of a list whose pages may begin at a number and not at an item, as those of storage plugins: where an item is deleted between
 * two pages, another is on neither. So several pages count where two readings have the same items.
 */
export async function listTwice<O extends Operation>(context: ExtractContext, operation: O, args?: OperationArgs<O>) {
  let earlier: readonly unknown[] | undefined;
  for (let readings = 0; readings < MAX_READINGS; readings++) {
    const list = await listAll(context, operation, args);
    const ids = list.items.map((item, row) => readListedId(item, operation.name, row)).sort();
    if (list.texts.length === 1 || isDeepStrictEqual(ids, earlier)) return list;
    earlier = ids;
  }
  throw toChangingList(context, operation, 'its items changed while they were listed');
}

/** What the items of a storage plugin's list refer to. */
const REFERENCES = ['ExternalID', 'PluginID', 'ExternalSourceVolumeID', 'SourceVolumeID'];

/** The ID of an item of a storage plugin's list. @throws TidemarkError DATA where it has none, or what it refers to is no text */
function readListedId(item: unknown, list: string, row: number): string {
  const [externalId] = REFERENCES.map((field) => optionalString(item, field, list, row));
  return externalId ?? requiredString(item, 'ID', list, row);
}

/** The index that a service sends with a list of these pages: the lowest, if they differ. */
function listIndex(pages: readonly Pick<ServiceResponse, 'headers'>[]): string | undefined {
  const found = pages.map(({ headers }) => headers.get('x-nomad-index') ?? headers.get('x-consul-index'));
  const indexes = found.flatMap((text) => (text !== null && /^\d{1,20}$/u.test(text) ? BigInt(text) : []));
  if (indexes.length === 0 || indexes.length < found.length) return undefined;
  return String(indexes.sort((a, b) => (a < b ? -1 : 1))[0]);
}

/**
 * A check that lists, then calls `read` for the first item that has a name: permission to list does not include permission to read.
 * @param param of `read`, for the name
 */
export function checkFirst(list: Operation, read: Operation, param = 'name', args: Names = {}) {
  return async (client: ServiceClient): Promise<ServiceResponse> => {
    const response = await client.call(list, { ...args, ...onePage(list) });
    const [item] = listItems(list, response);
    const name = textAt({ item }, 'item') ?? textAt(item, 'id') ?? textAt(item, 'Name');
    return name === null ? response : client.call(read, { ...args, ...onePage(read), [param]: name });
  };
}

/** The smallest page, where an operation has pages of a given size. */
const onePage = ({ params }: Operation) => ('page[size]' in params ? { 'page[size]': 1 } : {});
