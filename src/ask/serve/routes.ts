import { cancelRoute } from './cancel.ts';
import { catalogueRoute } from './catalogue.ts';
import { homeRoute } from './home.ts';
import { nightsRoute } from './nights.ts';
import { calendarRoute, reportFileRoute } from './report-files.ts';
import { reportsRoute } from './reports.ts';
import { resultRoutes } from './results.ts';
import type { PageRoute } from './route.ts';
import { rowRoute } from './row.ts';
import { runRoute } from './run.ts';
import { savedRoutes } from './saved-pages.ts';
import { editorRoutes } from './sql-page.ts';
import { stateRoute } from './state.ts';
import { assetRoute } from './static.ts';
import { tableRoute } from './table-page.ts';

/** Every address that the server answers; the first match wins. */
export const routes: readonly PageRoute[] = [
  homeRoute,
  reportsRoute,
  nightsRoute,
  runRoute,
  reportFileRoute,
  calendarRoute,
  catalogueRoute,
  tableRoute,
  rowRoute,
  ...resultRoutes,
  ...savedRoutes,
  ...editorRoutes,
  cancelRoute,
  stateRoute,
  assetRoute,
];
