import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createTransport } from 'nodemailer';
import type { MailAddress } from '../core/mail-address.ts';
import { type Message, mailOf } from './message.ts';

/** The mail as it would go out, byte for byte. */
export async function emlOf(message: Message, from: MailAddress, output: string): Promise<Buffer> {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  const { message: raw } = await transport.sendMail(await mailOf(message, from, output));
  return raw as Buffer;
}

/** Writes `mail/JOB.RECIPIENT.eml` below the output folder. @returns its path. */
export async function writeEml(message: Message, from: MailAddress, output: string): Promise<string> {
  const safe = (text: string) => text.replaceAll(/[^\w.@+-]/gu, '_');
  const path = join(output, 'mail', `${safe(message.job)}.${safe(message.to.address)}.eml`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, await emlOf(message, from, output));
  return path;
}
