import type { MailFlags } from '../mail.ts';
import { addExamples, collect, type DefineCommand } from './define.ts';

export const defineMail: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('mail')
      .summary('send the digest of a job, or preview it')
      .description("send the digest of a job's last run, or preview it")
      .argument('[job]', 'name of a file in jobs/; optional with --pending')
      .option('--to <address>', 'send the complete digest to this address instead; repeatable', collect, [])
      .option('--dry-run', 'print the digest and send nothing; needs no mail server')
      .option('--html <file>', 'with --dry-run, write its page to this file')
      .option('--pending', 'send the pending messages of the outbox')
      .action(async (job: string | undefined, flags: MailFlags) =>
        (await import('../mail.ts')).mail(context(), job, flags),
      ),
    ['tidemark mail nightly --dry-run --html digest.html', 'preview the digest of the last nightly run'],
    ['tidemark mail nightly --to me@acme.example', 'send the complete digest to one address'],
    ['tidemark mail --pending', 'send what the mail server did not accept yet'],
  );
