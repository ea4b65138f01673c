import type { Config } from '../../config/config.ts';
import { parseSmtpUrl } from '../../config/smtp-url.ts';
import { secretWeakness } from '../../core/redact/own-words.ts';
import { type Check, CheckList } from './check.ts';

/** Refuses secrets that cannot be masked wherever they appear. */
export function checkSecrets(config: Config): readonly Check[] {
  const list = new CheckList('configuration');
  for (const { name, secret } of listSecrets(config)) {
    const weakness = secretWeakness(secret);
    if (weakness === undefined) continue;
    list.fail(name, `refused: it ${weakness}, so it is masked only as a whole value; use a longer, random one`);
  }
  return list.checks;
}

function listSecrets({ targets, mail }: Config) {
  const password = mail && parseSmtpUrl(mail.smtp)?.password;
  return [
    ...targets.flatMap(({ name, token, writeToken }) => [
      { name: `token of ${name}`, secret: token },
      { name: `writeToken of ${name}`, secret: writeToken },
    ]),
    { name: 'password of mail', secret: password },
  ].flatMap(({ name, secret }) => (secret ? [{ name, secret }] : []));
}
