/**
 * The parameter `$playbooks`: a JSON list of `{playbook, rule, about, reversible}`. Loaded only for a query that asks for it:
 * the playbooks bring all operations with them.
 */
export async function playbooksParameter(): Promise<string> {
  const [{ playbooks }, { operations }] = await Promise.all([
    import('../playbooks/index.ts'),
    import('../services/index.ts'),
  ]);
  const listed = playbooks.map(({ name, rule, about, steps }) => ({
    playbook: name,
    rule,
    about,
    reversible: steps.every(({ operation }) => operations.get(operation)?.reversible === true),
  }));
  return JSON.stringify(listed);
}
