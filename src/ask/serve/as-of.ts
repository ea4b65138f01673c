import { parseTimestamp } from '../../core/clock.ts';
import { TidemarkError } from '../../core/errors.ts';

/** The time of the parameter `as_of` in an address. @throws TidemarkError USAGE if it is not a time. */
export function readTime(url: URL): Date | undefined {
  const text = url.searchParams.get('as_of') ?? '';
  if (text === '') return undefined;
  const time = parseTimestamp(text);
  if (!time) throw new TidemarkError('USAGE', `as_of=${text} is not a time such as 2026-11-20 or 2026-11-20T02:15:00Z`);
  return time;
}
