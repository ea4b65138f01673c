import { z } from 'zod';
import { isObject } from '../core/json-path.ts';
import { suggestName } from './suggest.ts';

/** URL templates of the pages that the product has for subjects. */

type LinkKind = ReturnType<typeof page>;

/**
 * @param fields names that a template may use in braces
 * @param path path and query below the origin of the product; undefined where the product has no page
 */
function page(fields: string, path?: string) {
  return { fields: fields.split(' '), path };
}

/** Per kind of target, the subjects that can be linked. A key is the type of the subject in camel case. */
export const LINK_KINDS: Readonly<Record<string, Readonly<Record<string, LinkKind>>>> = {
  // A workspace: `html_url` of the resource `tfe_workspace`. Projects and runs: public integrations that put these URLs together. Pools and
  // agents: the page "Organization Settings, Agents".
  platform: {
    workspace: page('organization name id project_id project_name', '/app/{organization}/workspaces/{name}'),
    project: page('organization name id', '/app/{organization}/projects/{id}'),
    run: page(
      'organization workspace_name workspace_id id',
      '/app/{organization}/workspaces/{workspace_name}/runs/{id}',
    ),
    agentPool: page('organization name id', '/app/{organization}/settings/agents/{id}'),
    agent: page('organization name id pool_id', '/app/{organization}/settings/agents/{pool_id}'),
    savedView: page('organization name id'),
  },
  // `ui/app/router.js` of Vault. The engine `consul` has no pages.
  secrets: {
    key: page('mount namespace name', '/ui/vault/secrets/{mount}/show/{name}?itemType=key'),
    kmsProvider: page('mount namespace name', '/ui/vault/secrets/{mount}/show/{name}?itemType=provider'),
    meshRole: page('mount namespace name'),
  },
  // `ui/app/router.js` of Nomad. 1.10 redirects the page of a volume to its new place (`route-redirects.js`); that of a policy is since 1.8.
  // External volumes and snapshots have the page of their plugin.
  scheduler: {
    aclPolicy: page('name', '/ui/administration/policies/{name}'),
    volume: page('id namespace name plugin_id external_id', '/ui/csi/volumes/{id}@{namespace}'),
    externalVolume: page('id plugin_id', '/ui/csi/plugins/{plugin_id}'),
    snapshot: page('id plugin_id', '/ui/csi/plugins/{plugin_id}'),
  },
  autoscaler: { autoscaler: page('target') },
  // `routes.js` of consul-ui, with the data center of the certificate's URI.
  mesh: {
    caRoot: page('id name'),
    leafCertificate: page('name namespace datacenter', '/ui/{datacenter}/services/{name}'),
  },
  registry: {},
};

export function listTemplateFields(template: string): readonly string[] {
  return [...template.matchAll(/\{([^{}]*)\}/gu)].map(([, name = '']) => name);
}

function templateError(template: string, { fields }: LinkKind): string | undefined {
  const unknown = listTemplateFields(template).find((name) => !fields.includes(name));
  if (unknown !== undefined)
    return `has the unknown field {${unknown}}; it may use ${fields.map((name) => `{${name}}`).join(', ')}`;
  const plain = template.replaceAll(/\{[^{}]*\}/gu, 'x');
  if (/[{}]/u.test(plain)) return 'has a brace without its counterpart';
  return addressError(template) ?? addressError(plain);
}

/** Host and port come before the first value: a name from a service never decides where a link leads. */
function addressError(text: string): string | undefined {
  const isWeb = /^https?:\/\/[^\s/\\?#@{}]+(?:[/?#]\S*)?$/u.test(text) && URL.canParse(text);
  if (isWeb) return undefined;
  return 'must be a URL that begins with https:// or http://, without a user, and with fields after the host only';
}

/** `links` of a target: `false`, or `ui` (the address of the product's pages) and a template or `false` for each type of subject. */
export const links = z.union(
  [z.literal(false), z.record(z.string(), z.union([z.literal(false), z.string()]))],
  'must be `false`, or `ui` and URL templates by type of subject',
);

/** Reports what is wrong with `links` of a target: keys and fields depend on the kind of the target. */
export function checkLinks(kind: unknown, value: unknown, report: (key: string, problem: string) => void): void {
  if (!Object.hasOwn(LINK_KINDS, String(kind)) || !isObject(value)) return;
  const kinds = new Map(Object.entries(LINK_KINDS[String(kind)] ?? {}));
  const findError = (key: string, template: unknown) => {
    if (key === 'ui') return addressError(String(template));
    const declared = kinds.get(key);
    if (!declared) return `unknown key for kind ${kind}; ${suggestName(key, ['ui', ...kinds.keys()])}`;
    return typeof template === 'string' ? templateError(template, declared) : undefined;
  };
  for (const [key, template] of Object.entries(value)) {
    const problem = findError(key, template);
    if (problem !== undefined) report(key, problem);
  }
}
