import { errorMessage } from '../../core/errors.ts';
import { createTemplateEngine, readTemplate } from '../../tell/reports/templates.ts';

/** Renders a template of `reports/serve/`. */
export interface PageTemplates {
  /** @throws Error, which is a fault of the server */
  render(template: string, context: object): Promise<string>;
}

/** @param roots folders that contain `reports/`; the first one that has a template wins */
export async function createPageTemplates(roots: readonly string[]): Promise<PageTemplates> {
  const engine = await createTemplateEngine(roots, 'html');
  return {
    async render(template, context) {
      const file = `serve/${template}.hbs`;
      try {
        return engine.render(`reports/${file}`, await readTemplate(roots, file), context);
      } catch (error) {
        // The reader cannot do anything about it: the server answers with 500 and logs it.
        throw new Error(errorMessage(error), { cause: error });
      }
    },
  };
}
