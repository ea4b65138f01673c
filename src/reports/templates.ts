import { readFile } from 'node:fs/promises';
import Handlebars from 'handlebars';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { discoverFiles, findFile } from '../core/paths.ts';
import { registerHelpers, type TemplateFormat } from './helpers.ts';

/** Renders templates. An unknown name is an error, and HTML templates escape every value that is not from a helper. */
export interface TemplateEngine {
  render(name: string, source: string, context: object): string;
}

/**
 * An isolated Handlebars with the helpers and the partials of `reports/partials`: `NAME.hbs` for HTML, `NAME.txt.hbs` for text.
 * @param roots folders that contain `reports/`; the first one that has a file wins
 */
export async function createTemplateEngine(roots: readonly string[], format: TemplateFormat): Promise<TemplateEngine> {
  const handlebars = Handlebars.create();
  const options = { strict: true, noEscape: format === 'text', preventIndent: true };
  for (const [file, path] of await discoverFiles(roots, 'reports/partials', '.hbs')) {
    const isText = file.endsWith('.txt');
    if (isText === (format === 'text')) {
      handlebars.registerPartial(
        file.replace(/\.txt$/u, ''),
        handlebars.compile(await readFile(path, 'utf8'), options),
      );
    }
  }
  registerHelpers(handlebars, format);
  const compiled = new Map<string, Handlebars.TemplateDelegate>();
  return {
    render(name, source, context) {
      try {
        const template = compiled.get(source) ?? handlebars.compile(source, options);
        compiled.set(source, template);
        return template(context);
      } catch (error) {
        throw new TidemarkError('DATA', `${name}: ${errorMessage(error)}`, { cause: error });
      }
    },
  };
}

/** The content of `reports/NAME`. @throws TidemarkError DATA where it does not exist */
export async function readTemplate(roots: readonly string[], name: string): Promise<string> {
  const path = findFile(roots, `reports/${name}`);
  if (!path) throw new TidemarkError('DATA', `reports/${name} does not exist`);
  return readFile(path, 'utf8');
}
