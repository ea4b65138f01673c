import { EMPTY_CELL } from './format.ts';
import { escapeMarkup } from './markup.ts';
import type { CellView } from './table-view.ts';

/** The rows of a table as HTML. They are most of a page, so they are not a template. */
export function drawRows(rows: readonly (readonly CellView[])[]): string {
  return rows.map((row) => `<tr>${row.map(drawCell).join('')}</tr>`).join('\n');
}

function drawCell(cell: CellView): string {
  const kind = cell.numeric ? ' class="n"' : cell.kind === 'time' ? ' class="t"' : '';
  const sort = cell.sort === null ? '' : ` data-v="${escapeMarkup(cell.sort)}"`;
  return `<td${kind}${sort}>${drawContent(cell)}</td>`;
}

function drawContent({ text, kind, href, filter, items, picture }: CellView): string {
  if (picture) return picture;
  if (href !== null) {
    const data = filter === null ? '' : ` data-filter="${escapeMarkup(filter)}"`;
    return `<a href="${escapeMarkup(href)}"${data}>${isolate(text)}</a>`;
  }
  if (items) {
    const list = items.map((item) => `<li>${isolate(item)}</li>`).join('');
    return `<details><summary>${isolate(text)}</summary><ul>${list}</ul></details>`;
  }
  if (kind === 'tag' && text !== EMPTY_CELL)
    return `<span class="tag" data-value="${escapeMarkup(text)}">${escapeMarkup(text)}</span>`;
  return isolate(text);
}

/** `registry.terraform.io/hashicorp/aws` */
const ADDRESS = /^[\w.:-]+(?:\/[\w.:-]+){2,}$/u;
const PLAIN = /^[\w ./:@+()[\],;*#%—…−-]*$/;

/**
 * Text that may run from right to left does not affect its surroundings. Most text is plain and needs neither this nor escapes. An address
 * breaks between its names.
 */
function isolate(text: string): string {
  if (PLAIN.test(text)) return ADDRESS.test(text) ? text.replaceAll('/', '/<wbr>') : text;
  return /^[\x20-\x7e—…−×]*$/u.test(text) ? escapeMarkup(text) : `<bdi>${escapeMarkup(text)}</bdi>`;
}
