import { sendAsset } from './assets.ts';
import { cancelQuery } from './cancel.ts';
import { sendTables } from './catalogue.ts';
import { sendHome } from './home.ts';
import { sendNights, sendRun } from './nights.ts';
import { sendState } from './page.ts';
import { sendEditor, sendList, sendNames, sendSaved } from './query-pages.ts';
import { sendReportFile } from './report-files.ts';
import { sendReports } from './reports.ts';
import { RESULT_FORMATS, sendResult } from './results.ts';
import type { Exchange } from './route.ts';
import { sendRow } from './row.ts';
import { CANCEL_PATH } from './security.ts';
import { sendTable } from './table-page.ts';

/** What answers a path. The first group of the pattern is `name`. */
type Route = readonly [pattern: RegExp, answer: (exchange: Exchange) => Promise<void>];

/** Every address that the server answers; the first match wins. */
export const routes: readonly Route[] = [
  [/^\/$/u, sendHome],
  [/^\/reports\/?$/u, sendReports],
  [/^\/nights\/?$/u, sendNights],
  [/^\/runs\/([^/]+)$/u, sendRun],
  [/^\/reports\/(.+)$/u, sendReportFile],
  [/^\/(deadlines\.ics)$/u, sendReportFile],
  [/^\/tables\/?$/u, sendTables],
  [/^\/tables\/([^/]+)$/u, sendTable],
  [/^\/tables\/([^/]+)\/row$/u, sendRow],
  ...RESULT_FORMATS.flatMap((format): readonly Route[] => [
    [new RegExp(`^/query\\.${format}()$`, 'u'), (exchange) => sendResult(exchange, format)],
    [new RegExp(`^/saved/([^/]+)\\.${format}$`, 'u'), (exchange) => sendResult(exchange, format)],
  ]),
  [/^\/saved\/?$/u, sendList],
  [/^\/saved\/([^/]+)$/u, sendSaved],
  [/^\/sql$/u, sendEditor],
  [/^\/sql\/names\.json$/u, sendNames],
  [new RegExp(`^${CANCEL_PATH}$`, 'u'), cancelQuery],
  [/^\/state\.json$/u, sendState],
  [/^\/assets\/([\w.-]+)$/u, sendAsset],
];
