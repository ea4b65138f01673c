import { type DefaultTreeAdapterTypes, parse } from 'parse5';

/** An element of a page as a browser parses it. */
export interface PageElement {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly text: string;
  /** The elements inside, in document order. */
  readonly descendants: readonly PageElement[];
}

/** The elements of a page in document order, parsed by the rules of the HTML standard. */
export function parseElements(html: string): readonly PageElement[] {
  return collect(parse(html));
}

function collect(node: DefaultTreeAdapterTypes.Node): readonly PageElement[] {
  if (!('childNodes' in node)) return [];
  return node.childNodes.flatMap((child) => {
    const descendants = collect(child);
    if (!('tagName' in child)) return descendants;
    const attributes = Object.fromEntries(child.attrs.map(({ name, value }) => [name, value]));
    return [{ tag: child.tagName, attributes, text: textContent(child), descendants }, ...descendants];
  });
}

function textContent(node: DefaultTreeAdapterTypes.Node): string {
  if ('value' in node) return node.value;
  return 'childNodes' in node ? node.childNodes.map(textContent).join('') : '';
}

export function hasClass({ attributes }: PageElement, ...names: readonly string[]): boolean {
  const classes = attributes.class?.split(' ') ?? [];
  return names.every((name) => classes.includes(name));
}
