import { join, parse } from 'node:path';
import type { Config } from '../config/config.ts';
import { type Job, loadJob } from '../config/job.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { writeFileAtomic } from '../core/fs.ts';
import { type ComposeResult, composeMessages } from '../tell/mail/compose.ts';
import { fileNamePart, type Message, writeEml } from '../tell/mail/message.ts';
import { explicitRecipients, PREVIEW_RECIPIENT } from '../tell/mail/recipients.ts';
import type { Delivery, OutboxStore } from '../tell/mail/send.ts';
import { getStatuses, sendFromOutbox, writeOutbox } from '../tell/mail/send.ts';
import { resolveMailSettings, resolvePreviewSettings } from '../tell/mail/transport.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import { assertReadable, withPublished, withWarehouse } from '../warehouse/session.ts';
import type { DefineCommand, Lists, Switches, Texts } from './define.ts';
import { listPlaybooks, readConfig } from './options.ts';
import { formatSent, resolveOutput, writeResult } from './output.ts';

export const define: DefineCommand = (command) =>
  command
    .argument('[job]', 'name of a file in jobs/; optional with --pending')
    .repeatable('--to <address>', 'send the complete digest to this address instead')
    .option('--dry-run', 'print the digest and send nothing; needs no mail server')
    .option('--html <file>', 'with --dry-run, write its page to this file')
    .option('--pending', 'send the pending messages of the outbox')
    .runs(() => import('./mail.ts'), 'mail');

type MailFlags = Lists<'to'> & Texts<'html'> & Switches<'dryRun' | 'pending'>;

export async function mail(context: Context, name: string | undefined, options: MailFlags): Promise<void> {
  const config = readConfig(context);
  if (options.html !== undefined && !options.dryRun) throw new TidemarkError('USAGE', '--html requires --dry-run');
  if (options.pending) {
    if (options.dryRun || options.to.length > 0)
      throw new TidemarkError('USAGE', '--pending cannot be combined with --dry-run or --to');
    resolveMailSettings(config);
    await assertReadable(warehouseFiles(config.data).published);
    const session = { config, purpose: 'mail', now: context.clock.now(), log: context.log };
    const deliver = (warehouse: OutboxStore) => sendFromOutbox(warehouse, { config, context, job: name });
    return reportDeliveries(context, await withWarehouse(session, deliver));
  }
  if (name === undefined) throw new TidemarkError('USAGE', 'give a job or --pending');
  const job = await loadJob(config, context.env, name);
  explicitRecipients(name, options.to); // reports an invalid address before the warehouse is opened
  if (options.dryRun) return preview(context, config, job, options);
  if (!job.mail && options.to.length === 0) {
    throw new TidemarkError('USAGE', `jobs/${name}.yaml has no mail:`, { hint: 'give a recipient with --to' });
  }
  resolveMailSettings(config);
  await assertReadable(warehouseFiles(config.data).published);
  await send(context, config, job, options.to);
}

async function preview(context: Context, config: Config, job: Job, { to, html }: MailFlags): Promise<void> {
  const settings = resolvePreviewSettings(config);
  const recipients = to.length > 0 || job.mail || settings.routes.length > 0 ? to : [PREVIEW_RECIPIENT];
  await withPublished(config, async (published) => {
    const options = await composeOptions(context, config, job, published, recipients);
    const { messages } = await composeMessages({ ...options, settings });
    const files: string[] = [];
    const previews: string[] = [];
    for (const message of messages) {
      const { path, attached } = await writeEml(message, settings.sender, config.output);
      const names = attached.length === 0 ? '' : `Attachments: ${attached.join(', ')}\n`;
      files.push(path);
      previews.push(`To: ${message.to.address}\n${names}Subject: ${message.text}`);
    }
    const pages = html === undefined ? [] : await writePages(resolveOutput(context, config, html), messages);
    for (const file of [...files, ...pages]) context.log.info(`wrote ${file}`);
    const digests = messages.map(({ to: { address }, subject, text }) => ({ to: address, subject, text }));
    writeResult(context, { files, pages, digests }, () => previews.join(`\n${'='.repeat(72)}\n`));
  });
}

/** Writes the page of each distinct digest: to `file`, or to `file` with the recipient before its extension if there are several. */
async function writePages(file: string, messages: readonly Message[]): Promise<readonly string[]> {
  const distinct = messages.filter(({ html }, index) => messages.findIndex((other) => other.html === html) === index);
  const { dir, name, ext } = parse(file);
  const files: string[] = [];
  for (const { to, html } of distinct) {
    const path = distinct.length === 1 ? file : join(dir, `${name}.${fileNamePart(to.address)}${ext}`);
    await writeFileAtomic(path, html);
    files.push(path);
  }
  return files;
}

async function send(context: Context, config: Config, job: Job, to: readonly string[]): Promise<void> {
  await withPublished(config, async () => {}); // fails without a warehouse; none is created
  const session = { config, purpose: `mail ${job.name}`, now: context.clock.now(), log: context.log };
  const deliveries = await withWarehouse(session, async (warehouse) => {
    const composed = await composeMessages(await composeOptions(context, config, job, warehouse, to));
    await logEarlierDeliveries(context, warehouse, composed);
    await writeOutbox(warehouse, composed.messages);
    // with explicit recipients, only their messages are sent
    const messageIds = to.length > 0 ? composed.messages.map(({ messageId }) => messageId) : undefined;
    return sendFromOutbox(warehouse, { config, context, job: job.name, messageIds });
  });
  reportDeliveries(context, deliveries);
}

async function composeOptions(context: Context, config: Config, job: Job, home: OutboxStore, to: readonly string[]) {
  const [run] = await home.database.rows(home.files.read('mail/last_run'), { job: job.name });
  if (!run) {
    throw new TidemarkError('UNREACHABLE', 'the job has no run yet', {
      hint: `run it with \`tidemark run ${job.name}\``,
    });
  }
  return {
    ...home,
    config,
    job,
    run: { runId: String(run.run_id), asOf: new Date(String(run.started_at)) },
    composedAt: context.clock.now(),
    isRequested: true,
    playbooks: () => listPlaybooks(config),
    ...(to.length > 0 && { to }),
  };
}

/** The digest of a run is sent to a recipient once; `--to` sends it again. */
async function logEarlierDeliveries({ log }: Context, home: OutboxStore, { messages }: ComposeResult): Promise<void> {
  const ids = messages.map(({ messageId }) => messageId);
  const states = await getStatuses(home, ids);
  for (const { messageId, to, job } of messages) {
    const state = states.get(messageId);
    const again = `to send it again, run \`tidemark mail ${job} --to ${to.address}\``;
    if (state === 'sent') log.info(`${to.address} already has the digest; ${again}`);
    if (state === 'refused') log.warn(`${to.address} was rejected earlier; ${again}`);
  }
}

function reportDeliveries(context: Context, deliveries: readonly Delivery[]): void {
  writeResult(context, deliveries, () => `${formatSent(deliveries)}\n`);
  if (deliveries.some(({ status }) => status !== 'sent')) context.exit(EXIT.incomplete);
}
