import { type Action, APP_ID, commitPath, parseActions } from './delta-log.ts';
import { createOrRead, type LakeStore } from './store.ts';

/** The table has a commit that the caller has not read and must take into account. */
export class ConflictError extends Error {
  constructor(readonly table: string) {
    super(`another publish has committed to ${table}`);
    this.name = 'ConflictError';
  }
}

interface CommitOptions {
  /** The version that the caller has read. */
  readonly after: number;
  /** The commits in between that the caller must take into account. @default those that change the metadata, if this one does */
  readonly conflicts?: (actions: readonly Action[]) => boolean;
}

/**
 * Appends a commit. If another program has committed in between, the next version is tried. A repeat is harmless: a commit of the same
 * publish that is already there counts as this one.
 * @throws ConflictError for a commit in between that `conflicts` names
 * @returns the version
 */
export async function appendCommit(
  store: LakeStore,
  table: string,
  actions: readonly Action[],
  { after, conflicts = definesTable(actions) ? definesTable : () => false }: CommitOptions,
): Promise<number> {
  const text = `${actions.map((action) => JSON.stringify(action)).join('\n')}\n`;
  const publish = findPublish(actions);
  for (let version = after + 1; ; version++) {
    const path = commitPath(table, version);
    const existing = await createOrRead(store, path, text);
    if (existing === undefined) return version;
    const other = parseActions(existing) ?? [];
    if (publish !== undefined && findPublish(other) === publish) return version;
    if (conflicts(other)) throw new ConflictError(table);
  }
}

const definesTable = (actions: readonly Action[]): boolean => actions.some(({ metaData }) => metaData);

/** The number of the publish that made a commit; undefined for one of another program. */
export function findPublish(actions: readonly Action[]): number | undefined {
  return actions.find(({ txn }) => txn?.appId === APP_ID)?.txn?.version;
}
