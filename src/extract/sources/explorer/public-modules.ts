import { TidemarkError } from '../../../core/errors.ts';
import { ServiceError } from '../../../http/errors.ts';
import { platform } from '../../../services/platform/operations.ts';
import { describeFailure } from '../shared/list-and-read.ts';
import { PAGE_SIZE, sendPages } from '../shared/snapshot-pages.ts';
import type { ExtractContext } from '../source.ts';

/** What a row of the list is found by. */
const KEY = ['name', 'source', 'version'];

/**
 * Lands the list of public modules beside the rows, which do not tell their registry: `queries/load/modules_csv.sql` compares them. The rows
 * of the real products tell it. Where the list cannot be read whole, the registry of every module is unknown.
 */
export async function landPublicModules(context: ExtractContext): Promise<void> {
  const { client, landing } = context;
  const { flavor, missingColumns } = client.target;
  if (flavor === 'hashicorp' || KEY.some((name) => missingColumns.includes(name))) return;
  const start = await landing.checkpoint();
  const args = { type: 'modules', filter: ['registry_type:is:public'], 'page[size]': PAGE_SIZE };
  const write = ({ text }: { readonly text: string }) => landing.writeJson({}, text);
  try {
    await sendPages(context, platform.explorer.query, args, { write, reset: () => landing.rollback(start) });
  } catch (error) {
    if (!isUnanswered(error)) throw error;
    await landing.rollback(start);
    const reason = error instanceof ServiceError ? describeFailure(error) : error.message;
    landing.addNote(`which modules are public is unknown: ${reason}`);
  }
}

/** The service does not answer, or its pages are no list. A bound that is reached, or a disk that is full, is no such failure. */
function isUnanswered(error: unknown): error is TidemarkError {
  if (error instanceof ServiceError) return error.failure !== 'aborted';
  return error instanceof TidemarkError && error.constructor === TidemarkError && error.code === 'DATA';
}
