import { DEFAULT_TIMEOUTS } from '../core/context.ts';
import { ServiceError } from '../http/errors.ts';
import type { ServiceClient } from './client.ts';

const MAX_KEPT_BYTES = DEFAULT_TIMEOUTS.maxResponseBytes;

/**
 * A client for lists that are kept in memory whole: the pages of one may be as large together as a single response. More, as from a
 * service whose list never ends, would end the process, and with it the pulls of all targets.
 */
export function keepPages(client: ServiceClient): ServiceClient {
  return {
    ...client,
    async *pages(operation, args, options) {
      let bytes = 0;
      for await (const page of client.pages(operation, args, options)) {
        bytes += page.text.length;
        if (bytes > MAX_KEPT_BYTES) {
          throw new ServiceError({
            failure: 'too-large',
            operation: operation.name,
            target: client.target.name,
            serviceMessage: `its pages are larger than ${MAX_KEPT_BYTES / 1024 ** 2} MiB together`,
            hint: 'the service is faulty, or has more than can be pulled: leave the source out with `without`',
          });
        }
        yield page;
      }
    },
  };
}
