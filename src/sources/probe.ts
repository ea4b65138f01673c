import { type Answer, itemsOf } from '../services/answer.ts';
import type { Service } from '../services/connect.ts';
import type { ArgsOf, Operation } from '../services/operation.ts';

/**
 * Lists, then asks about the first item: a token that may list need not be permitted to read.
 * @param read the second call; undefined where the item gives nothing to ask by.
 */
export async function probeFirst<O extends Operation>(
  service: Service,
  list: O,
  args: ArgsOf<O>,
  read: (item: unknown) => Promise<Answer | undefined> | undefined,
): Promise<Answer> {
  const answer = await service.call(list, args);
  const [first] = itemsOf(list, answer);
  return (first === undefined ? undefined : await read(first)) ?? answer;
}

/** The same for a LIST of names, and reading one. */
export function probeNamed(service: Service, list: Operation, read: Operation): Promise<Answer> {
  return probeFirst(service, list, {}, (name) => (typeof name === 'string' ? service.call(read, { name }) : undefined));
}
