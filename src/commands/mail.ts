import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type Config, loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { type Job, loadJob } from '../core/jobs.ts';
import { askedAudience } from '../mail/audience.ts';
import { type Composed, type ComposeOptions, composeMessages, requireMail } from '../mail/compose.ts';
import { writeEml } from '../mail/eml.ts';
import { type OutboxHome, statesOf, writeOutbox } from '../mail/outbox.ts';
import { type Delivery, sendFrom, sendPending } from '../mail/send.ts';
import { openPublished, withWarehouse } from '../warehouse/session.ts';

interface Options {
  readonly to: readonly string[];
  readonly dryRun?: boolean;
  readonly pending?: boolean;
}

const collect = (value: string, previous: readonly string[]) => [...previous, value];

export function registerMail(program: Command, context: () => Context): void {
  program
    .command('mail')
    .description("send the digest of a job's last run, or show it")
    .argument('[job]', 'name of a file in jobs/; with --pending, all of them when none is named')
    .option('--to <address>', 'send it here instead, all of it; repeatable', collect, [])
    .option('--dry-run', 'write it to OUTPUT/mail/JOB.RECIPIENT.eml and send nothing')
    .option('--pending', 'send what waits in the outbox')
    .action((job: string | undefined, options: Options) => mail(context(), job, options));
}

async function mail(context: Context, name: string | undefined, options: Options): Promise<void> {
  const config = loadConfig(resolve(context.cwd, context.configFile), context.env, context.redactor);
  if (options.pending) {
    if (options.dryRun || options.to.length > 0) throw new TidemarkError('USAGE', '--pending stands alone');
    requireMail(config);
    answer(context, await sendPending({ config, context, ...(name !== undefined && { job: name }) }));
    return;
  }
  if (name === undefined) throw new TidemarkError('USAGE', 'name a job, or give --pending');
  const job = await loadJob(config, context.env, name);
  if (!job.mail && options.to.length === 0) {
    throw new TidemarkError('USAGE', `jobs/${name}.yaml has no mail:`, { hint: 'name a recipient with --to' });
  }
  requireMail(config);
  askedAudience(name, options.to); // a wrong address is told before anything is opened
  if (options.dryRun) await show(context, config, job, options.to);
  else await send(context, config, job, options.to);
}

async function show(context: Context, config: Config, job: Job, to: readonly string[]): Promise<void> {
  const published = await openPublished(config);
  try {
    const { messages } = await composeMessages(await optionsOf(context, config, job, published, to));
    const { sender } = requireMail(config);
    const files: string[] = [];
    for (const message of messages) files.push(await writeEml(message, sender, config.output));
    context.stdout(
      context.json ? `${JSON.stringify({ files }, null, 2)}\n` : files.map((file) => `${file}\n`).join(''),
    );
  } finally {
    published.database.close();
  }
}

async function send(context: Context, config: Config, job: Job, to: readonly string[]): Promise<void> {
  (await openPublished(config)).database.close(); // without one there is nothing to tell of, and none is to be made
  const session = { config, purpose: `mail ${job.name}`, now: context.clock.now(), log: context.log };
  const deliveries = await withWarehouse(session, async (warehouse) => {
    const composed = await composeMessages(await optionsOf(context, config, job, warehouse, to));
    await sayWhoHasIt(context, warehouse, composed);
    await writeOutbox(warehouse, composed.messages);
    // who asks for it at an address of their own must not set off what waits for others
    const messageIds = to.length > 0 ? composed.messages.map(({ messageId }) => messageId) : undefined;
    return sendFrom(warehouse, { config, context, job: job.name, ...(messageIds && { messageIds }) });
  });
  answer(context, deliveries);
}

async function optionsOf(
  context: Context,
  config: Config,
  job: Job,
  home: OutboxHome,
  to: readonly string[],
): Promise<ComposeOptions> {
  const [run] = await home.database.rows(await home.files.text('mail/last_run'), { job: job.name });
  if (!run) {
    throw new TidemarkError('UNREACHABLE', 'there is no run yet to tell of', {
      hint: `try \`tidemark run ${job.name}\``,
    });
  }
  return {
    ...home,
    config,
    job,
    run: { runId: String(run.run_id), asOf: new Date(String(run.started_at)) },
    composedAt: context.clock.now(),
    asked: true,
    ...(to.length > 0 && { to }),
  };
}

/** The digest of a run goes to a recipient once; who wants it again asks with `--to`. */
async function sayWhoHasIt({ log }: Context, home: OutboxHome, { messages }: Composed): Promise<void> {
  const states = await statesOf(
    home,
    messages.map(({ messageId }) => messageId),
  );
  for (const { messageId, to, job } of messages) {
    const state = states.get(messageId);
    if (state === 'sent')
      log.info(`${to.address} has it already; again with \`tidemark mail ${job} --to ${to.address}\``);
    if (state === 'refused')
      log.warn(`${to.address} was refused before; again with \`tidemark mail ${job} --to ${to.address}\``);
  }
}

function answer(context: Context, deliveries: readonly Delivery[]): void {
  const waiting = deliveries.filter(({ status }) => status !== 'sent');
  if (context.json) context.stdout(`${JSON.stringify(deliveries, null, 2)}\n`);
  else context.stdout(`${deliveries.length - waiting.length} of ${deliveries.length} digests sent\n`);
  if (waiting.length > 0) context.exit(EXIT.incomplete);
}
