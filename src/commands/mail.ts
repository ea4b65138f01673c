import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { type Job, loadJob } from '../config/job.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { type ComposeOptions, type ComposeResult, composeMessages } from '../mail/compose.ts';
import { writeEml } from '../mail/message.ts';
import { getStatuses, type OutboxStore, writeOutbox } from '../mail/outbox.ts';
import { explicitRecipients } from '../mail/recipients.ts';
import { type Delivery, sendFromOutbox, sendPending } from '../mail/send.ts';
import { resolveMailSettings } from '../mail/transport.ts';
import { openPublished, withWarehouse } from '../warehouse/session.ts';
import { collect, readConfig } from './options.ts';
import { writeResult } from './output.ts';

interface Options {
  readonly to: readonly string[];
  readonly dryRun?: boolean;
  readonly pending?: boolean;
}

export function registerMail(program: Command, context: () => Context): void {
  program
    .command('mail')
    .description("send the digest of a job's last run, or preview it")
    .argument('[job]', 'name of a file in jobs/; optional with --pending')
    .option('--to <address>', 'send the complete digest to this address instead; repeatable', collect, [])
    .option('--dry-run', 'write OUTPUT/mail/JOB.RECIPIENT.eml and send nothing')
    .option('--pending', 'send the pending messages of the outbox')
    .action((job: string | undefined, options: Options) => mail(context(), job, options));
}

async function mail(context: Context, name: string | undefined, options: Options): Promise<void> {
  const config = readConfig(context);
  if (options.pending) {
    if (options.dryRun || options.to.length > 0)
      throw new TidemarkError('USAGE', '--pending cannot be combined with --dry-run or --to');
    resolveMailSettings(config);
    reportDeliveries(context, await sendPending({ config, context, ...(name !== undefined && { job: name }) }));
    return;
  }
  if (name === undefined) throw new TidemarkError('USAGE', 'give a job or --pending');
  const job = await loadJob(config, context.env, name);
  if (!job.mail && options.to.length === 0) {
    throw new TidemarkError('USAGE', `jobs/${name}.yaml has no mail:`, { hint: 'give a recipient with --to' });
  }
  resolveMailSettings(config);
  explicitRecipients(name, options.to); // reports an invalid address before the warehouse is opened
  if (options.dryRun) await preview(context, config, job, options.to);
  else await send(context, config, job, options.to);
}

async function preview(context: Context, config: Config, job: Job, to: readonly string[]): Promise<void> {
  const published = await openPublished(config);
  try {
    const { messages } = await composeMessages(await composeOptions(context, config, job, published, to));
    const { sender } = resolveMailSettings(config);
    const files: string[] = [];
    for (const message of messages) files.push(await writeEml(message, sender, config.output));
    writeResult(context, { files }, () => files.map((file) => `${file}\n`).join(''));
  } finally {
    published.database.close();
  }
}

async function send(context: Context, config: Config, job: Job, to: readonly string[]): Promise<void> {
  (await openPublished(config)).database.close(); // fails without a warehouse; none is created
  const session = { config, purpose: `mail ${job.name}`, now: context.clock.now(), log: context.log };
  const deliveries = await withWarehouse(session, async (warehouse) => {
    const composed = await composeMessages(await composeOptions(context, config, job, warehouse, to));
    await logEarlierDeliveries(context, warehouse, composed);
    await writeOutbox(warehouse, composed.messages);
    // with explicit recipients, only their messages are sent
    const messageIds = to.length > 0 ? composed.messages.map(({ messageId }) => messageId) : undefined;
    return sendFromOutbox(warehouse, { config, context, job: job.name, ...(messageIds && { messageIds }) });
  });
  reportDeliveries(context, deliveries);
}

async function composeOptions(
  context: Context,
  config: Config,
  job: Job,
  home: OutboxStore,
  to: readonly string[],
): Promise<ComposeOptions> {
  const [run] = await home.database.rows(await home.files.read('mail/last_run'), { job: job.name });
  if (!run) {
    throw new TidemarkError('UNREACHABLE', 'the job has no run yet', {
      hint: `try \`tidemark run ${job.name}\``,
    });
  }
  return {
    ...home,
    config,
    job,
    run: { runId: String(run.run_id), asOf: new Date(String(run.started_at)) },
    composedAt: context.clock.now(),
    isRequested: true,
    ...(to.length > 0 && { to }),
  };
}

/** The digest of a run is sent to a recipient once; `--to` sends it again. */
async function logEarlierDeliveries({ log }: Context, home: OutboxStore, { messages }: ComposeResult): Promise<void> {
  const states = await getStatuses(
    home,
    messages.map(({ messageId }) => messageId),
  );
  for (const { messageId, to, job } of messages) {
    const state = states.get(messageId);
    if (state === 'sent')
      log.info(
        `${to.address} already has the digest; to send it again, run \`tidemark mail ${job} --to ${to.address}\``,
      );
    if (state === 'refused')
      log.warn(`${to.address} was rejected earlier; to send it again, run \`tidemark mail ${job} --to ${to.address}\``);
  }
}

function reportDeliveries(context: Context, deliveries: readonly Delivery[]): void {
  const waiting = deliveries.filter(({ status }) => status !== 'sent');
  const sent = deliveries.length - waiting.length;
  writeResult(context, deliveries, () => `${sent} of ${deliveries.length} digests sent\n`);
  if (waiting.length > 0) context.exit(EXIT.incomplete);
}
