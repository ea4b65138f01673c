/** The content of the generated organization. Names are hostile wherever an administrator could type anything. */

export const PROJECTS: readonly string[] = [
  'payments',
  'platform-core',
  'data lake',
  'identity',
  'customer, portal "beta"',
  '<script>alert(1)</script>',
  "=cmd|' /C calc'!A0",
  '日本語プロジェクト 🚀',
  'مشروع الفوترة',
  "O'Brien & Söhne",
  'two\nlines',
  'edge',
  '\u001b[31mred\u001b[0m alert',
  `the longest name that anyone ever gave a project, ${'and more of it, '.repeat(12)}end`,
];

/** Every thirteenth of the first workspaces has one of these names. */
export const HOSTILE_WORKSPACES: readonly string[] = [
  'quote"in-name',
  'comma,in-name',
  '<img src=x onerror=alert(1)>',
  '=HYPERLINK("http://evil.example","open")',
  '+1-800-formula',
  '-2+3',
  '@SUM(A1:A9)',
  'line\nbreak',
  'crlf\r\nbreak',
  '数据平台-生产',
  'שלום-עולם',
  'tab\tname',
  'rtl\u202Egnp.exe',
  "drop'; delete from workspaces; --",
  'null',
  '{{constructor}}',
  `${'very-long-'.repeat(24)}name`,
];

export const STAGES = ['prod', 'prod', 'staging', 'dev', 'dr'] as const;
export const TEAMS = ['billing', 'search', 'network', 'iam', 'orders', 'ml', 'web', 'mobile', 'risk', 'ops'] as const;
export const PARTS = ['api', 'db', 'cluster', 'cdn', 'queue', 'vpc', 'cache', 'jobs', 'dns', 'storage'] as const;

/** Tool versions with their share of the workspaces on day 0. Text order is not semantic order, on purpose. */
export const TOOL_VERSIONS: readonly (readonly [version: string, share: number])[] = [
  ['0.15.5', 1],
  ['1.5.7', 8],
  ['1.9.8', 18],
  ['1.9.10', 10],
  ['1.10.0-beta1', 1],
  ['1.10.0-beta10', 1],
  ['1.10.5', 24],
  ['1.11.4', 20],
  ['1.12.2', 15],
  ['1.14.0-rc1', 1],
];

/** The newest release on day 0. */
export const NEWEST_TOOL = '1.12.2';

/** Releases that are published while the sandbox runs. */
export const TOOL_RELEASES: readonly (readonly [day: number, version: string])[] = [
  [3, '1.12.10'],
  [8, '1.14.0'],
];

export interface Product {
  readonly name: string;
  readonly source: string;
  readonly registry: 'public' | 'private';
  /** Oldest first. */
  readonly versions: readonly string[];
}

export const PROVIDERS: readonly Product[] = [
  { name: 'aws', source: 'hashicorp/aws', registry: 'public', versions: ['4.67.0', '5.9.0', '5.84.0', '6.2.0'] },
  { name: 'azurerm', source: 'hashicorp/azurerm', registry: 'public', versions: ['3.117.1', '4.9.0', '4.21.0'] },
  { name: 'google', source: 'hashicorp/google', registry: 'public', versions: ['5.45.2', '6.30.0'] },
  { name: 'kubernetes', source: 'hashicorp/kubernetes', registry: 'public', versions: ['2.9.0', '2.35.1'] },
  { name: 'random', source: 'hashicorp/random', registry: 'public', versions: ['3.6.3', '3.7.2'] },
  { name: 'datadog', source: 'datadog/datadog', registry: 'public', versions: ['3.9.0', '3.51.0', '4.0.0-rc1'] },
  { name: 'aws', source: 'acme/aws', registry: 'private', versions: ['0.1.0'] },
  { name: 'null', source: 'hashicorp/null', registry: 'public', versions: ['3.2.3'] },
];

export const MODULES: readonly Product[] = [
  {
    name: 'vpc',
    source: 'terraform-aws-modules/vpc/aws',
    registry: 'public',
    versions: ['3.19.0', '5.1.2', '5.10.0'],
  },
  { name: 'eks', source: 'terraform-aws-modules/eks/aws', registry: 'public', versions: ['19.21.0', '20.8.5'] },
  { name: 'network', source: 'acme/network/azurerm', registry: 'private', versions: ['1.2.0', '1.10.0', '2.0.0'] },
  { name: 'baseline', source: 'acme/baseline/aws', registry: 'private', versions: ['0.9.1', '1.0.0'] },
  { name: 'iam "strict", v2', source: 'acme/iam-strict/aws', registry: 'private', versions: ['2.4.0'] },
];
