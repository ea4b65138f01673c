import type { ServiceClient } from '../services/client.ts';
import type { Operation, OperationArgs } from '../services/operation.ts';
import { listItems, type ServiceResponse } from '../services/response.ts';

/**
 * Lists, then asks about the first item: a token that may list need not be permitted to read.
 * @param read the second call; undefined where the item gives nothing to ask by.
 */
export async function checkListAndRead<O extends Operation>(
  service: ServiceClient,
  list: O,
  args: OperationArgs<O>,
  read: (item: unknown) => Promise<ServiceResponse | undefined> | undefined,
): Promise<ServiceResponse> {
  const answer = await service.call(list, args);
  const [first] = listItems(list, answer);
  return (first === undefined ? undefined : await read(first)) ?? answer;
}

/** The same for a LIST of names, and reading one. */
export function checkNamed(service: ServiceClient, list: Operation, read: Operation): Promise<ServiceResponse> {
  return checkListAndRead(service, list, {}, (name) =>
    typeof name === 'string' ? service.call(read, { name }) : undefined,
  );
}
