import Handlebars from 'handlebars';
import { errorMessage, TidemarkError } from '../../core/errors.ts';
import { readNamedFile } from '../../core/fs.ts';
import { discoverFiles, findFile } from '../../core/paths.ts';
import { registerHelpers, type TemplateFormat } from './helpers.ts';

/** Renders templates. An unknown name is an error, and HTML templates escape every value that is not from a helper. */
export type TemplateEngine = ReturnType<typeof buildEngine>;

type Partials = readonly (readonly [name: string, text: string])[];

/** Compiled templates that an engine keeps, and engines that the process keeps: each changes only when a file is edited. */
const MAX_TEMPLATES = 200;
const MAX_ENGINES = 8;

/** What Handlebars says of an unknown name, with the value that lacks it. */
const UNDEFINED = /^"([^"]+)" not defined in .* - (\d+):\d+$/su;

/** By format and partials: a process that renders again, such as the daemon, compiles nothing twice. */
const engines = new Map<string, TemplateEngine>();

/**
 * The engine with the helpers and the partials of `reports/partials`: `NAME.hbs` for HTML, `NAME.txt.hbs` for text.
 * @param roots folders that contain `reports/`; the first one that has a file wins
 */
export function createTemplateEngine(roots: readonly string[], format: TemplateFormat): TemplateEngine {
  const files = [...discoverFiles(roots, 'reports/partials', '.hbs').keys()].filter(
    (file) => file.endsWith('.txt') === (format === 'text'),
  );
  const partials = files.map(
    (file) => [file.replace(/\.txt$/u, ''), readTemplate(roots, `partials/${file}.hbs`)] as const,
  );
  const key = JSON.stringify([format, partials]);
  const engine = engines.get(key) ?? buildEngine(partials, format);
  keep(engines, key, engine, MAX_ENGINES);
  return engine;
}

/** An isolated Handlebars with the helpers and these partials, text by name. */
function buildEngine(partials: Partials, format: TemplateFormat) {
  const handlebars = Handlebars.create();
  const options = { strict: true, noEscape: format === 'text', preventIndent: true };
  for (const [name, text] of partials) handlebars.registerPartial(name, handlebars.compile(text, options));
  registerHelpers(handlebars, format);
  const compiled = new Map<string, Handlebars.TemplateDelegate>();
  const files: Partials = partials.map(([file, text]) => [`reports/partials/${file}.hbs`, text]);
  return {
    render(name: string, source: string, context: object): string {
      try {
        if (format === 'html' && !compiled.has(source)) assertTrusted(handlebars, [...files, [name, source]]);
        const template = compiled.get(source) ?? handlebars.compile(source, options);
        keep(compiled, source, template, MAX_TEMPLATES);
        return template(context);
      } catch (error) {
        if (error instanceof TidemarkError) throw error;
        const told = errorMessage(error).replace(UNDEFINED, 'line $2: $1 is not defined');
        throw new TidemarkError('DATA', `${name}: ${told}`, { cause: error });
      }
    },
  };
}

/** A value shows its markup as text, unless the template says that no service can change it. @throws TidemarkError DATA */
function assertTrusted(handlebars: typeof Handlebars, files: Partials): void {
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

function keep<T>(cache: Map<string, T>, key: string, value: T, limit: number): void {
  if (!cache.has(key) && cache.size >= limit) cache.clear();
  cache.set(key, value);
}

/** The content of `reports/NAME`. @throws TidemarkError DATA where it does not exist, or cannot be read */
export function readTemplate(roots: readonly string[], name: string): string {
  const path = findFile(roots, `reports/${name}`);
  if (!path) throw new TidemarkError('DATA', `reports/${name} does not exist`);
  return readNamedFile(path, { code: 'DATA' });
}
