import type { Target } from '../../config/config.ts';
import { closestMatch } from '../../config/suggest.ts';
import { TidemarkError } from '../../core/errors.ts';
import {
  canonicalField,
  EXPLORER_FIELDS,
  type ExplorerView,
  toHashicorpField,
} from '../../services/platform/explorer.ts';

/**
 * A response lacks a documented column. Its values are unknown, and not null: the pull is quarantined unless another strategy
 * returns the column, or `missingColumns` of the target names it.
 */
export class MissingColumnError extends TidemarkError {}

/** A field to filter by, which is not a column: docs/services/platform.md#explorer-views. */
const FILTER_ONLY = 'registry_type';

/** The documented columns of a view. */
export function documentedColumns(view: ExplorerView): readonly string[] {
  return Object.keys(EXPLORER_FIELDS[view]).filter((name) => name !== FILTER_ONLY);
}

/** @throws MissingColumnError when a CSV header lacks a documented column. Names are compared exactly, as the load does. */
export function checkHeader(view: ExplorerView, header: readonly string[], target: Target): void {
  const isPresent = (name: string) => header.includes(name) || header.includes(toHashicorpField(name));
  const missing = documentedColumns(view).filter((name) => !isPresent(name));
  const known = new Set(documentedColumns(view).flatMap((name) => [name, toHashicorpField(name)]));
  const added = header.filter((name) => !known.has(name));
  assertComplete({ view, missing, added, target, where: 'the CSV header has no column' });
}

/** Collects the attributes of JSON rows. One that no row has, not even as null, is missing. */
export interface AttributeCheck {
  observe(items: readonly unknown[]): void;
  /** @throws MissingColumnError when there are rows, and a documented attribute is in none of them */
  verify(): void;
}

export function createAttributeCheck(view: ExplorerView, target: Target): AttributeCheck {
  const missing = new Set(documentedColumns(view));
  const added = new Set<string>();
  let hasRows = false;
  return {
    observe(items) {
      hasRows ||= items.length > 0;
      for (const item of items) {
        if (missing.size === 0) return;
        for (const name of attributeNames(item)) {
          if (!missing.delete(canonicalField(name)) && !documentedColumns(view).includes(canonicalField(name))) {
            added.add(name);
          }
        }
      }
    },
    verify() {
      if (!hasRows) return;
      assertComplete({ view, missing: [...missing], added: [...added], target, where: 'no row has the attribute' });
    },
  };
}

function attributeNames(item: unknown): readonly string[] {
  const attributes = (item as { readonly attributes?: unknown } | null)?.attributes;
  return typeof attributes === 'object' && attributes !== null ? Object.keys(attributes) : [];
}

interface Comparison {
  readonly view: ExplorerView;
  /** Documented names that the response lacks. */
  readonly missing: readonly string[];
  /** Undocumented names that the response has. */
  readonly added: readonly string[];
  readonly target: Target;
  readonly where: string;
}

/** The nearest new name is shown quoted, since it may differ in case or in spaces alone. */
function assertComplete({ view, missing, added, target, where }: Comparison): void {
  const names = missing.filter((name) => !target.missingColumns.includes(name));
  if (names.length === 0) return;
  const shown = names.map((name) => {
    const nearest = closestMatch(name, added);
    return nearest === undefined ? name : `${name} (the nearest new name is ${JSON.stringify(nearest.slice(0, 60))})`;
  });
  throw new MissingColumnError('DATA', `${view}: ${where} ${shown.join(', ')}`, {
    hint: `if the service does not have it, add \`missingColumns: [${names.join(', ')}]\` to the target ${target.name}`,
  });
}
