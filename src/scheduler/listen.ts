import { TidemarkError } from '../core/errors.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** `127.0.0.1:9464`, `[::1]:9464`, `:9464` (every interface) or `9464` (loopback). @throws TidemarkError CONFIG */
export function listenAddress(text: string): ListenAddress {
  const match = /^(?:(?<host>\[[0-9a-f:.]+\]|[^:\s/]*)(?<colon>:))?(?<port>\d{1,5})$/iu.exec(text.trim());
  const port = Number(match?.groups?.port);
  if (!match || port > 65_535) {
    throw new TidemarkError('CONFIG', `tidemark.yaml: schedule.listen: ${text} is no address`, {
      hint: 'write it as 127.0.0.1:9464',
    });
  }
  if (!match.groups?.colon) return { host: '127.0.0.1', port };
  return { host: match.groups.host?.replace(/^\[|\]$/gu, '') || '::', port };
}
