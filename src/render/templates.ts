import { readFile } from 'node:fs/promises';
import Handlebars from 'handlebars';
import { messageOf, TidemarkError } from '../core/errors.ts';
import { discover, findFile } from '../core/paths.ts';
import type { DrawChart } from './charts.ts';
import { registerHelpers } from './helpers.ts';

export type TemplateFormat = 'html' | 'text';

/** Renders templates: unknown names throw, and in HTML every value is escaped unless a helper of ours made it. */
export interface TemplateEngine {
  render(name: string, source: string, context: object): string;
}

/**
 * A private Handlebars with our helpers and the partials of `reports/partials`: `NAME.hbs` for HTML, `NAME.txt.hbs` for text.
 * @param roots where `reports/` is looked for, the first one wins
 */
export async function templateEngine(
  roots: readonly string[],
  format: TemplateFormat,
  drawChart: DrawChart,
): Promise<TemplateEngine> {
  const handlebars = Handlebars.create();
  const options = { strict: true, noEscape: format === 'text', preventIndent: true };
  for (const [file, path] of await discover(roots, 'reports/partials', '.hbs')) {
    const isText = file.endsWith('.txt');
    if (isText === (format === 'text')) {
      handlebars.registerPartial(
        file.replace(/\.txt$/u, ''),
        handlebars.compile(await readFile(path, 'utf8'), options),
      );
    }
  }
  registerHelpers(handlebars, format, drawChart);
  const compiled = new Map<string, Handlebars.TemplateDelegate>();
  return {
    render(name, source, context) {
      try {
        const template = compiled.get(source) ?? handlebars.compile(source, options);
        compiled.set(source, template);
        return template(context);
      } catch (error) {
        throw new TidemarkError('DATA', `${name}: ${messageOf(error)}`, { cause: error });
      }
    },
  };
}

/** Renders `reports/NAME` (such as `digest.hbs` or `digest.txt.hbs`) with a context of plain values. */
export async function renderTemplate(options: {
  readonly roots: readonly string[];
  readonly name: string;
  readonly context: object;
  readonly drawChart: DrawChart;
}): Promise<string> {
  const { roots, name, context, drawChart } = options;
  const path = findFile(roots, `reports/${name}`);
  if (!path) throw new TidemarkError('DATA', `reports/${name} does not exist`);
  const engine = await templateEngine(roots, name.endsWith('.txt.hbs') ? 'text' : 'html', drawChart);
  return engine.render(`reports/${name}`, await readFile(path, 'utf8'), context);
}
