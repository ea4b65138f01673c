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
  const elements: PageElement[] = [];
  collect(parse(html), elements);
  return elements;
}

/** Appends the elements inside of a node. */
function collect(node: DefaultTreeAdapterTypes.Node, elements: PageElement[]): void {
  if (!('childNodes' in node)) return;
  for (const child of node.childNodes) {
    if (!('tagName' in child)) continue;
    const index = elements.length;
    elements.push(toElement(child, () => elements.slice(index + 1, end)));
    collect(child, elements);
    const end = elements.length;
  }
}

/** Text and descendants are computed on demand: those of every element of a page add up to many times the page. */
function toElement(
  element: DefaultTreeAdapterTypes.Element,
  listDescendants: () => readonly PageElement[],
): PageElement {
  return {
    tag: element.tagName,
    attributes: Object.fromEntries(element.attrs.map(({ name, value }) => [name, value])),
    get text() {
      return textContent(element);
    },
    get descendants() {
      return listDescendants();
    },
  };
}

function textContent(node: DefaultTreeAdapterTypes.Node): string {
  if ('value' in node) return node.value;
  return 'childNodes' in node ? node.childNodes.map(textContent).join('') : '';
}

export function hasClass({ attributes }: PageElement, ...names: readonly string[]): boolean {
  const classes = attributes.class?.split(' ') ?? [];
  return names.every((name) => classes.includes(name));
}
