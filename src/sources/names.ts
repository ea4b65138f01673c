import type { Operation } from '../services/operation.ts';
import { listThenRead } from './shared/list-and-read.ts';
import { type ExtractContext, requiredString } from './source.ts';

/** The names that a LIST of the secrets server answers with; an empty list is an answer too. */
export async function listNames(
  run: ExtractContext,
  operation: Operation,
  args: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const answer = await run.client.call(operation, args, run.requestOptions);
  const { data } = answer.json() as { data?: { keys?: unknown } };
  const names = Array.isArray(data?.keys) ? data.keys : [];
  return names.map((name, index) => requiredString({ key: name }, 'key', operation.name, index));
}

/** Lands what reading each named thing answers, one a line. */
export async function extractNamed(run: ExtractContext, list: Operation, read: Operation): Promise<void> {
  const again = () => listNames(run, list);
  await listThenRead(run, await run.once(list.name, again), again, String, async (name) => {
    const answer = await run.client.call(read, { name }, run.requestOptions);
    await run.landing.writeJson({ name }, answer.text);
    run.landing.expectRows(1);
  });
}
