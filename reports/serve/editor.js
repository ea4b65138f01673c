// Replaces the text area of a query with CodeMirror. Without it, the form works the same.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { SQLDialect, sql } from '@codemirror/lang-sql';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorSelection, EditorState, Prec } from '@codemirror/state';
import { Decoration, drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const KEYWORDS =
  'all and anti any as asc asof between by case cast cross cube describe desc distinct else end except exclude exists explain false filter first following from full glob group grouping having ilike in inner intersect interval into is join last lateral left like limit materialized natural not null nulls offset on or order outer over partition pivot positional preceding qualify range recursive replace respect right rollup row rows sample select semi sets similar summarize table tablesample then ties to true try_cast unbounded union unnest unpivot using values when where window with within without';
const TYPES =
  'bigint bit blob boolean date decimal double enum float hugeint integer interval json list map numeric real smallint struct text time timestamp timestamptz tinyint ubigint uinteger union usmallint utinyint uuid varchar';
const FUNCTIONS =
  'abs any_value arg_max arg_min array_agg avg bool_and bool_or ceil coalesce concat contains count count_if date_add date_diff date_part date_trunc dense_rank ends_with epoch first_value floor greatest ifnull json_extract json_extract_string lag last_value lead least len length list list_contains lower ltrim max median min mode now nullif quantile_cont rank regexp_extract regexp_matches regexp_replace replace round row_number rtrim split_part starts_with strftime string_agg strptime substring sum time_bucket today trim typeof upper';

const DuckDB = SQLDialect.define({
  keywords: KEYWORDS,
  types: TYPES,
  builtin: FUNCTIONS,
  operatorChars: '*+-%<>!=&|~^/:',
  identifierQuotes: '"',
  doubleDollarQuotedStrings: true,
  specialVar: '$',
  caseInsensitiveIdentifiers: true,
});

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null], class: 'cm-keyword' },
  { tag: [tags.string, tags.special(tags.string)], class: 'cm-string' },
  { tag: tags.number, class: 'cm-number' },
  { tag: tags.comment, class: 'cm-comment' },
  { tag: [tags.typeName, tags.standard(tags.name)], class: 'cm-builtin' },
]);

const toFunction = (name) => ({ label: name, type: 'function', apply: name });

/** What follows a dot, or a FROM: names of `T_at(` are functions. */
function toSchema(names) {
  const entries = Object.entries(names).map(([name, columns]) =>
    name.endsWith('(') ? [name, { self: toFunction(name), children: [] }] : [name, columns],
  );
  return Object.fromEntries(entries);
}

/** Columns of the tables that the query names, without a table in front. */
function completeColumns(names) {
  return (context) => {
    const word = context.matchBefore(/[\w.]*/u);
    if (word.text.includes('.') || (word.from === word.to && !context.explicit)) return null;
    if (/\b(?:from|join)\s+\w*$/iu.test(context.state.sliceDoc(0, context.pos))) return null;
    const text = context.state.doc.toString();
    const used = Object.keys(names).filter((name) => new RegExp(`\\b${name.replace('(', '\\(')}`, 'iu').test(text));
    const columns = new Map(used.flatMap((table) => names[table].map((column) => [column, table])));
    const options = [...columns].map(([label, table]) => ({ label, detail: table, type: 'property', boost: 1 }));
    return { from: word.from, options, validFor: /^\w*$/u };
  };
}

async function readNames() {
  const response = await fetch('/sql/names.json');
  if (!response.ok) throw new Error(`the names cannot be read: ${response.status}`);
  return response.json();
}

/** Marks the line on which DuckDB found an error, until the text changes. */
function markLine(line, text) {
  return EditorView.decorations.compute(['doc'], ({ doc }) =>
    line >= 1 && line <= doc.lines && doc.toString() === text
      ? Decoration.set([Decoration.line({ class: 'cm-error-line' }).range(doc.line(line).from)])
      : Decoration.none,
  );
}

async function start() {
  const area = document.querySelector('#sql');
  const { form } = area;
  const names = await readNames();
  const language = sql({ dialect: DuckDB, schema: toSchema(names) });
  const line = Number(area.dataset.line ?? 0);
  const run = { key: 'Mod-Enter', run: () => { form.requestSubmit(); return true; } };
  const state = EditorState.create({
    doc: area.value,
    extensions: [
      EditorView.cspNonce.of(document.querySelector('script[nonce]').nonce),
      Prec.highest(keymap.of([run])),
      lineNumbers(),
      history(),
      drawSelection(),
      bracketMatching(),
      closeBrackets(),
      autocompletion(),
      language,
      language.language.data.of({ autocomplete: completeColumns(names) }),
      syntaxHighlighting(colors),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({
        'aria-label': 'Query',
        'aria-describedby': area.getAttribute('aria-describedby'),
      }),
      keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
      markLine(line, area.value),
    ],
  });
  const view = new EditorView({ state });
  area.before(view.dom);
  area.hidden = true;
  document.querySelector('label[for=sql]').addEventListener('click', () => view.focus());
  form.addEventListener('formdata', ({ formData }) => formData.set('sql', view.state.doc.toString()));
  placeCursor(view, line, Number(area.dataset.column ?? 1));
  document.documentElement.dataset.editor = 'ready';
}

/** At the error, or at the end. A touch screen would open its keyboard. */
function placeCursor(view, line, column) {
  const { doc } = view.state;
  const found = line > 0 && line <= doc.lines ? doc.line(line) : undefined;
  const at = found ? Math.min(found.from + column - 1, found.to) : doc.length;
  view.dispatch({ selection: EditorSelection.cursor(at) });
  if (matchMedia('(pointer: fine)').matches) view.focus();
}

await start();
