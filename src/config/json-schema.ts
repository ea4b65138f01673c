import { z } from 'zod';

/** The schema of a file in the language that editors complete and check it by. */
export function toJsonSchema(schema: z.ZodType, title: string): Readonly<Record<string, unknown>> {
  return { title, ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) };
}

interface Node {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | boolean;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
}

/** The keys that are allowed at a path of the file. */
export function listKeys(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as Node;
  const nodes = path.reduce<readonly Node[]>((found, part) => found.flatMap((node) => step(node, part)), [root]);
  return [...new Set(nodes.flatMap(expand).flatMap(({ properties = {} }) => Object.keys(properties)))];
}

function step(node: Node, part: PropertyKey): readonly Node[] {
  return expand(node).flatMap(({ properties, additionalProperties, items }) => {
    const next = typeof part === 'number' ? items : (properties?.[String(part)] ?? additionalProperties);
    return typeof next === 'object' ? [next] : [];
  });
}

/** The alternatives of a node. */
function expand(node: Node): readonly Node[] {
  return [node, ...(node.anyOf ?? []).flatMap(expand)];
}
