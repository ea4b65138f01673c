/** What a JSON value looks like: the types of its members, and of the items of a list taken together. */
export type Shape = ReadonlyMap<string, ReadonlySet<string>>;

/** Members whose names are names of objects: only their values have a form. */
const MAPS =
  /(^|\.)(WriteAllocs|ReadAllocs|Segments|Parameters|Context|TaskStates|Labels|Details|secret|auth|meta|options|config)$/;

/** The types by path, e.g. `Volumes[].Topologies[].Segments`. */
export function shapeOf(value: unknown): Shape {
  const shape = new Map<string, Set<string>>();
  collect(value, '', shape);
  return shape;
}

function collect(value: unknown, path: string, shape: Map<string, Set<string>>): void {
  const types = shape.get(path) ?? new Set();
  shape.set(path, types.add(typeName(value)));
  if (Array.isArray(value)) for (const item of value) collect(item, `${path}[]`, shape);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      collect(member, MAPS.test(path) ? `${path}.*` : `${path}.${name}`, shape);
    }
  }
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'list' : typeof value;
}

/**
 * How an answer differs from the recorded one: members that one of them lacks, and other types. What is null or an empty
 * list in either says nothing of the members inside, and null matches any type.
 */
export function compareShapes(recorded: Shape, own: Shape): string[] {
  const paths = [...new Set([...recorded.keys(), ...own.keys()])].sort();
  return paths.flatMap((path) => {
    const [theirs, ours] = [recorded.get(path), own.get(path)];
    if (!theirs || !ours)
      return isInside(path, theirs ? own : recorded) ? [`${path}: ${theirs ? 'missing' : 'added'}`] : [];
    const other = [...ours].filter((type) => type !== 'null' && !theirs.has(type));
    return other.length > 0 && [...theirs].some((type) => type !== 'null')
      ? [`${path}: ${other} instead of ${[...theirs]}`]
      : [];
  });
}

/** Whether the answer has the object or the list that the path belongs to. */
function isInside(path: string, shape: Shape): boolean {
  const parent = path.endsWith('[]') ? path.slice(0, -2) : path.slice(0, path.lastIndexOf('.'));
  if (path.endsWith('[]') || path.endsWith('.*')) return false; // a list or a map without items
  return [...(shape.get(parent) ?? [])].some((type) => type === 'object');
}
