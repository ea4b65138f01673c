import type { ServeFlags } from '../serve.ts';
import { addExamples, collect, type DefineCommand, port, positiveNumber } from './define.ts';

export const defineServe: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('serve')
      .description('serve reports, the catalogue, saved queries and SQL as read-only pages until stopped')
      .option('--listen <address>', 'address to listen on; another than loopback needs a token', '127.0.0.1')
      .option('--port <number>', 'port; 0 selects a free one', port, 8420)
      .option('--token-file <file>', 'file with the token that readers must give; else TIDEMARK_SERVE_TOKEN')
      .option('--allow-host <name>', 'name that readers may use for this server; repeatable', collect, [])
      .option('--workers <n>', 'queries that run at the same time', positiveNumber, 2)
      .action(async (flags: ServeFlags) => (await import('../serve.ts')).serve(context(), flags)),
    ['tidemark serve', 'serve on http://127.0.0.1:8420/'],
    [
      'tidemark serve --listen 0.0.0.0 --token-file /run/secrets/serve --allow-host tidemark.internal',
      'serve to others',
    ],
  );
