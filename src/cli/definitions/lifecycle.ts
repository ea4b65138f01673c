import { addExamples, type DefineCommand } from './define.ts';

export const defineLifecycle: DefineCommand = (program, context) => {
  const lifecycle = program
    .command('lifecycle')
    .description('take newer facts about how long versions of products are supported');
  addExamples(
    lifecycle
      .command('import')
      .description('take the facts of a document into the warehouse')
      .argument('<file>', 'document as queries/lifecycle/products.json, or as endoflife.date answers for a product')
      .action(async (file: string) => (await import('../lifecycle.ts')).importFacts(context(), file)),
    ['tidemark lifecycle import vault.json', 'take the answer of https://endoflife.date/api/v1/products/vault'],
  );
  return addExamples(lifecycle, [
    'tidemark lifecycle import products.json',
    'take facts in the form of those in the package',
  ]);
};
