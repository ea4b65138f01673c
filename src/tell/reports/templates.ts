import { basename } from 'node:path';
import Handlebars from 'handlebars';
import { errorMessage, TidemarkError } from '../../core/errors.ts';
import { REGULAR_FILE, readNamedFile } from '../../core/fs.ts';
import { discoverFiles, findFile } from '../../core/paths.ts';
import { registerHelpers, type TemplateFormat } from './helpers.ts';

/** Renders templates. An unknown name is an error, and HTML templates escape every value that is not from a helper. */
export type TemplateEngine = ReturnType<typeof createTemplateEngine>;

/** What Handlebars says of an unknown name, with the value that lacks it. */
const UNDEFINED = /^"([^"]+)" not defined in .* - (\d+):\d+$/su;

/**
 * The engine with the helpers and the partials of `reports/partials`: `NAME.hbs` for HTML, `NAME.txt.hbs` for text.
 * @param roots folders that contain `reports/`; the first one that has a file wins
 */
export function createTemplateEngine(roots: readonly string[], format: TemplateFormat) {
  const partials = [...discoverFiles(roots, 'reports/partials', '.hbs').keys()]
    .filter((file) => file.endsWith('.txt') === (format === 'text'))
    .map((file) => [`reports/partials/${file}.hbs`, readTemplate(roots, `partials/${file}.hbs`)] as const);
  const handlebars = Handlebars.create();
  const options = { strict: true, noEscape: format === 'text', preventIndent: true };
  for (const [file, text] of partials)
    handlebars.registerPartial(basename(file).replace(/(?:\.txt)?\.hbs$/u, ''), handlebars.compile(text, options));
  registerHelpers(handlebars, format);
  /** By file, with its text: a person may edit it while a server runs. */
  const compiled = new Map<string, { readonly source: string; readonly run: Handlebars.TemplateDelegate }>();
  const compile = (name: string, source: string) => {
    const known = compiled.get(name);
    if (known?.source === source) return known.run;
    if (format === 'html') assertTrusted(handlebars, [...partials, [name, source]]);
    const run = handlebars.compile(source, options);
    compiled.set(name, { source, run });
    return run;
  };
  return {
    render(name: string, source: string, context: object): string {
      try {
        return compile(name, source)(context);
      } catch (error) {
        if (error instanceof TidemarkError) throw error;
        const told = errorMessage(error).replace(UNDEFINED, 'line $2: $1 is not defined');
        throw new TidemarkError('DATA', `${name}: ${told}`, { cause: error });
      }
    },
  };
}

/** A value shows its markup as text, unless the template says that no service can change it. @throws TidemarkError DATA */
function assertTrusted(handlebars: typeof Handlebars, files: readonly (readonly [name: string, text: string])[]): void {
  for (const [name, source] of files) {
    const visitor = new Handlebars.Visitor();
    visitor.MustacheStatement = ({ escaped, path, loc }) => {
      const written = 'original' in path ? String(path.original) : '…';
      if (escaped || written === 'trusted') return;
      throw new TidemarkError('DATA', `${name}: line ${loc.start.line}: {{{${written}}}} would not be escaped`, {
        hint: `write {{${written}}}, or {{{trusted ${written}}}} for markup that no service can change`,
      });
    };
    visitor.accept(handlebars.parse(source));
  }
}

/** The content of `reports/NAME`. @throws TidemarkError DATA where it does not exist, or cannot be read */
export function readTemplate(roots: readonly string[], name: string): string {
  const path = findFile(roots, `reports/${name}`);
  if (!path) throw new TidemarkError('DATA', `reports/${name} does not exist`);
  return readNamedFile(path, { code: 'DATA', ...REGULAR_FILE });
}
