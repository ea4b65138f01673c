import { type Args, type Operation, type OperationParam, queryParam } from './operation.ts';

/**
 * The read without the checks that come from the API documents: arguments that they do not list are sent as query
 * parameters, and their rules for values do not apply. Path parameters, required ones and the body are still checked.
 */
export function uncheckOperation<T extends Operation>(operation: T, args: Args): T {
  const { validate: _, ...rest } = operation;
  const unlisted = Object.fromEntries(
    listUnlisted(operation, args).map((name): [string, OperationParam] => [name, queryParam('not documented')]),
  );
  return { ...rest, params: { ...operation.params, ...unlisted } } as unknown as T;
}

/** The arguments that the API documents do not list for the operation. */
export function listUnlisted({ params, queryEncoder }: Operation, args: Args): string[] {
  return Object.keys(args).filter(
    (name) => name !== 'organization_name' && !Object.hasOwn(params, name) && !queryEncoder?.handles(name),
  );
}
