import type { Operation } from '../services/operation.ts';
import { eachListed } from './listed.ts';
import { type Extraction, nameIn } from './source.ts';

/** The names that a LIST of the secrets server answers with; an empty list is an answer too. */
export async function listNames(
  run: Extraction,
  operation: Operation,
  args: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const answer = await run.service.call(operation, args, run.options);
  const { data } = answer.json() as { data?: { keys?: unknown } };
  const names = Array.isArray(data?.keys) ? data.keys : [];
  return names.map((name, index) => nameIn({ key: name }, 'key', operation.name, index));
}

/** Lands what reading each named thing answers, one a line. */
export async function landNamed(run: Extraction, list: Operation, read: Operation): Promise<void> {
  const again = () => listNames(run, list);
  await eachListed(run, await run.shared(list.name, again), again, String, async (name) => {
    const answer = await run.service.call(read, { name }, run.options);
    await run.land.line({ name }, answer.text);
    run.land.expect(1);
  });
}
