import { meshMounts, type Target } from '../../config/config.ts';
import { LINK_KINDS, listTemplateFields } from '../../config/links.ts';
import { isLoopback } from '../../core/loopback.ts';
import type { Row, Value } from '../../warehouse/values.ts';

/** A subject as tables, findings and the pages of subjects name it. */
export interface SubjectRef {
  readonly target: string;
  /** `workspace`, `agent pool`, …: `subject_type` of findings, `-- subject:` of a rule. */
  readonly type: string;
  readonly id: string;
  readonly name: string | null;
  /** Further values for URL templates by name, such as a row of the subject's table or the `detail` of a finding. @default none */
  readonly fields?: Readonly<Record<string, Value>>;
}

/** The subject of a finding. */
export function findingSubject({ target, subject_type, subject_id, subject_name, detail }: Row) {
  const name = typeof subject_name === 'string' ? subject_name : null;
  const fields = (detail ?? {}) as Row;
  return { target: String(target), type: String(subject_type), id: String(subject_id), name, fields };
}

/** The page that the product has for a subject, such as `https://app.terraform.io/app/acme/workspaces/api`; undefined if there is none. */
export type ProductLinker = (subject: SubjectRef) => string | undefined;

/**
 * Links subjects to the pages of their products, as `links` of their target says. Targets on the loopback interface have no links by
 * default: an address of this machine leads nobody else anywhere, and the sandbox has no pages.
 */
export function createProductLinker(targets: readonly Target[]): ProductLinker {
  const byName = new Map(targets.map((target) => [target.name, target]));
  return (subject) => {
    const target = byName.get(subject.target);
    const template = target && findTemplate(target, toLinkKey(subject.type));
    return template && fillUrl(template, linkValues(target, subject));
  };
}

/** `agent pool` → `agentPool`, `KMS provider` → `kmsProvider` */
function toLinkKey(type: string): string {
  const [first = '', ...rest] = type.toLowerCase().split(/[\s-]+/u);
  return [first, ...rest.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join('');
}

function findTemplate({ kind, url, links = {}, namespace }: Target, key: string): string | undefined {
  const kinds = LINK_KINDS[kind] ?? {};
  const declared = Object.hasOwn(kinds, key) ? kinds[key] : undefined;
  if (links === false || !declared) return undefined;
  const own = links[key];
  if (own !== undefined) return own === false ? undefined : own;
  const ui = links.ui || (isLoopback(new URL(url).hostname) ? undefined : new URL(url).origin);
  if (ui === undefined || declared.path === undefined) return undefined;
  const inNamespace = kind === 'secrets' && namespace ? '&namespace={namespace}' : '';
  return `${ui.replace(/\/+$/u, '')}${declared.path}${inNamespace}`;
}

/** A row cannot replace the values that come from the configuration. */
function linkValues(target: Target, subject: SubjectRef): Readonly<Record<string, Value>> {
  const { name, organization, mounts, namespace } = target;
  const meshes = meshMounts(target);
  const mesh = meshes.find((mount) => mount === subject.fields?.mount) ?? meshes[0] ?? null;
  return {
    namespace: namespace ?? null,
    ...subjectFields(subject),
    target: name,
    organization: organization ?? null,
    mount: subject.type === 'mesh role' ? mesh : mounts.keymgmt,
  };
}

/** Findings and tables use the same names for most values; the rest follows from the ID. */
function subjectFields({ type, id, name, fields = {} }: SubjectRef): Readonly<Record<string, Value>> {
  const [first = '', ...rest] = id.split('/');
  const second = rest.join('/') || null;
  if (type === 'volume') {
    const split = second === null ? { id, namespace: 'default' } : { id: second, namespace: first };
    return { ...fields, name, id: fields.volume_id ?? split.id, namespace: fields.namespace ?? split.namespace };
  }
  if (type === 'external volume' || type === 'snapshot') return { plugin_id: second && first, ...fields, id, name };
  if (type === 'leaf certificate') {
    const datacenter = /\/dc\/([^/]+)\//u.exec(String(fields.service_uri ?? ''))?.[1] ?? null;
    return { ...fields, id, name: name ?? id, datacenter };
  }
  return { ...fields, id, name: name ?? id };
}

/** The URL with each value percent-encoded; undefined if a value is missing, or would change the path of the URL. */
function fillUrl(template: string, values: Readonly<Record<string, Value>>): string | undefined {
  const isKnown = listTemplateFields(template).every((field) => {
    const value = Object.hasOwn(values, field) ? values[field] : null;
    return value !== null && value !== undefined && value !== '' && typeof value !== 'object';
  });
  if (!isKnown) return undefined;
  const url = template.replaceAll(/\{(\w+)\}/gu, (_, field: string) => encodeValue(String(values[field])));
  const path = url.split(/[?#]/u, 1)[0] ?? '';
  return path.split('/').some((segment) => segment === '.' || segment === '..') ? undefined : url;
}

function encodeValue(text: string): string {
  const wellFormed = Buffer.from(text).toString(); // encodeURIComponent throws on half of a surrogate pair
  return encodeURIComponent(wellFormed).replaceAll(
    /[!'()*]/gu,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
