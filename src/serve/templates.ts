import { createTemplateEngine, readTemplate } from '../reports/templates.ts';

/** Renders a template of `reports/serve/`. */
export interface PageTemplates {
  render(template: string, context: object): Promise<string>;
}

/** @param roots folders that contain `reports/`; the first one that has a template wins */
export async function createPageTemplates(roots: readonly string[]): Promise<PageTemplates> {
  const engine = await createTemplateEngine(roots, 'html');
  return {
    async render(template, context) {
      const file = `serve/${template}.hbs`;
      return engine.render(`reports/${file}`, await readTemplate(roots, file), context);
    },
  };
}
