import type { InitFlags } from '../init.ts';
import { addExamples, collect, type DefineCommand } from './define.ts';

export const defineInit: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('init')
      .summary('write a commented tidemark.yaml and .env.example')
      .description('write a commented tidemark.yaml and .env.example; with URLs, ask the services what they have')
      .option('--platform <url>', 'HCP Terraform or Terraform Enterprise; the token is in TFE_TOKEN')
      .option('--organization <name>', 'organization of the platform')
      .option('--secrets <url>', 'Vault; the token is in VAULT_TOKEN')
      .option('--scheduler <url>', 'Nomad; the token is in NOMAD_TOKEN')
      .option('--autoscaler <url>', 'the Nomad Autoscaler')
      .option('--mesh <url>', 'a Consul agent; the token is in CONSUL_HTTP_TOKEN')
      .option('--registry <url>', 'a registry of providers and modules, such as https://registry.terraform.io')
      .option('--service <name>', 'service of the mesh whose leaf certificate is recorded; repeatable', collect, [])
      .option('--force', 'replace existing files')
      .action(async (flags: InitFlags) => (await import('../init.ts')).init(context(), flags)),
    ['tidemark init', 'write a configuration to fill in'],
    [
      'TFE_TOKEN=… tidemark init --platform https://app.terraform.io --organization acme',
      'write a configuration for one organization, with the sources that it has',
    ],
    [
      'tidemark init --scheduler http://nomad.internal:4646 --force',
      'replace the configuration by one for a scheduler',
    ],
  );
