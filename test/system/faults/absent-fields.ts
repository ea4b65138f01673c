import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { sources } from '../../../src/extract/sources/index.ts';
import { readRows } from '../../helpers/rows.ts';
import { type Cleanup, tempFolder } from '../../helpers/temp.ts';
import { testProject } from '../../helpers/test-project.ts';
import { faultProxy, type Upstream } from './fault-proxy.ts';

/** A field that every answer to an operation lacks, or has as null, or as an object or a list with what it had. */
interface AbsentField {
  readonly target: string;
  /** Name of the operation. */
  readonly operation: string;
  /** Such as `data[].attributes.name`; `*` is a name that is an ID. */
  readonly field: string;
  readonly instead: (typeof INSTEAD)[number];
}

const INSTEAD = ['nothing', 'null', 'object', 'list'] as const;

interface LackingEstate {
  /** Every field of every JSON answer of a good night, with each of what may be instead. */
  readonly fields: readonly AbsentField[];
  /** The night after a good one, in which nothing changes and the field is absent. @returns the rules whose findings it resolved */
  resolvedWithout(absent: AbsentField): Promise<readonly string[]>;
}

const HOUR_MS = 3_600_000;

/** The real mesh sends null for a root without intermediate certificates. */
const MAY_LACK = /IntermediateCerts$/u;

async function lackingEstate(cleanup: Cleanup): Promise<LackingEstate> {
  const { folder, sandbox, configure, tidemark } = await testProject({ workspaces: 60, flavor: 'hashicorp', cleanup });
  const good = await tempFolder(cleanup);
  const data = join(folder, 'data');
  const known = new Map<string, Omit<AbsentField, 'instead'>>();
  let absent: AbsentField | undefined;
  let changed = 0;

  const shape = (target: string) => (answer: Upstream, url: string) => {
    const body = parseBody(answer);
    const operation = body === undefined ? undefined : findOperation(url);
    if (operation === undefined) return answer;
    if (absent?.target === target && absent.operation === operation) {
      changed++;
      return { ...answer, body: Buffer.from(JSON.stringify(removeField(body, absent))) };
    }
    for (const field of listFields(body).filter((one) => !MAY_LACK.test(one)))
      known.set(`${target} ${operation} ${field}`, { target, operation, field });
    return answer;
  };

  const urls = new Map<string, string>();
  await configure(({ targets }) => {
    for (const { name, url } of targets) urls.set(String(name), String(url));
  });
  for (const [name, url] of urls) {
    const { origin, pathname } = new URL(url);
    const change = shape(name);
    const proxy = await faultProxy(origin, (answer, asked) => change(answer, asked.url));
    cleanup(() => proxy.close());
    urls.set(name, new URL(pathname, proxy.url).href.replace(/\/$/u, ''));
  }
  await configure((config) => {
    config.fullReadDays = 0; // what is proven unchanged is read as well
    for (const target of config.targets) target.url = urls.get(String(target.name));
  });
  await mkdir(join(folder, 'jobs'));
  await writeFile(join(folder, 'jobs', 'night.yaml'), 'pull: all\nreports: []\n');
  const run = async (at: Date, words: readonly string[] = []) => {
    const timeouts = { attempts: 1, backoffMs: 1, maxBackoffMs: 2 };
    return tidemark(['run', 'night', ...words, '--now', at.toISOString()], { timeouts });
  };
  const { exit, stderr } = await run(sandbox.now);
  if (exit !== 0) throw new Error(stderr);
  await cp(data, good, { recursive: true });

  return {
    fields: [...known.values()].flatMap((one) => INSTEAD.map((instead) => ({ ...one, instead }))),
    resolvedWithout: async (field) => {
      await rm(data, { recursive: true });
      await cp(good, data, { recursive: true });
      [absent, changed] = [field, 0];
      const night = await run(new Date(sandbox.now.getTime() + HOUR_MS), ['--target', field.target]);
      absent = undefined;
      // 3: the only source of a target failed.
      if (changed === 0 || ![0, 1, 3].includes(night.exit))
        throw new Error(`${changed} answers changed of ${JSON.stringify(field)}\n${night.stderr}`);
      const ended = "select distinct rule from finding_events where state = 'resolved' order by 1";
      return (await readRows(join(data, 'warehouse.duckdb'), ended)).map(({ rule }) => String(rule));
    },
  };
}

function parseBody({ status, body }: Upstream): unknown {
  const text = body.toString('utf8');
  return status === 200 && /^\s*[[{]/u.test(text) ? JSON.parse(text) : undefined;
}

/** The operation whose path a request has, with the type of an explorer view. */
function findOperation(url: string): string | undefined {
  const { pathname, searchParams } = new URL(url, 'http://127.0.0.1');
  const found = sources.flatMap(({ operations = [] }) => operations).find(({ path }) => toPattern(path).test(pathname));
  return found && [found.name, ...searchParams.getAll('type')].join(' ');
}

function toPattern(path: string): RegExp {
  return new RegExp(`${path.split('?', 1)[0]?.replaceAll(/\{\w+\}/gu, '[^/]+')}$`, 'u');
}

/** IDs are names in maps of claims, for example. */
const toName = (name: string) => (/\d/u.test(name) ? '*' : name);

function listFields(value: unknown, path = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => listFields(item, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = path === '' ? toName(name) : `${path}.${toName(name)}`;
    return [field, ...listFields(inner, field)];
  });
}

function removeField(value: unknown, absent: AbsentField, path = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => removeField(item, absent, `${path}[]`));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).flatMap(([name, inner]) => {
    const field = path === '' ? toName(name) : `${path}.${toName(name)}`;
    if (field !== absent.field) return [[name, removeField(inner, absent, field)]];
    if (absent.instead === 'nothing') return [];
    return [[name, { null: null, object: { value: inner }, list: [inner] }[absent.instead]]];
  });
  return Object.fromEntries(kept);
}

/** Checks one field in so many, beginning with one of the first. */
export async function expectNothingResolved(every: number, cleanup: Cleanup, first = 0): Promise<void> {
  const { fields, resolvedWithout } = await lackingEstate(cleanup);
  expect(fields.length).toBeGreaterThan(1000);
  for (const [index, field] of fields.entries()) {
    if (index % every === first) expect(await resolvedWithout(field), JSON.stringify(field)).toEqual([]);
  }
}
