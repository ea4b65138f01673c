import { DEFAULT_TIMEOUTS } from '../core/context.ts';
import { ServiceError } from '../http/errors.ts';
import type { ServiceClient } from './client.ts';

const MEBIBYTE = 1024 * 1024;
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
        if (bytes > MAX_KEPT_BYTES) throw tooLarge(operation.name, client.target.name);
        yield page;
      }
    },
  };
}

function tooLarge(operation: string, target: string): ServiceError {
  const serviceMessage = `its pages are larger than ${MAX_KEPT_BYTES / MEBIBYTE} MiB together`;
  const hint = 'the service is faulty, or has more than can be pulled: leave the source out with `without`';
  return new ServiceError({ failure: 'too-large', operation, target, serviceMessage, hint });
}
