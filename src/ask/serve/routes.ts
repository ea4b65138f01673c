import { assetRoute } from './assets.ts';
import { cancelRoute } from './cancel.ts';
import { catalogueRoute } from './catalogue.ts';
import { homeRoute } from './home.ts';
import { nightsRoute, runRoute } from './nights.ts';
import { stateRoute } from './page.ts';
import { queryRoutes } from './query-pages.ts';
import { calendarRoute, reportFileRoute } from './report-files.ts';
import { reportsRoute } from './reports.ts';
import { resultRoutes } from './results.ts';
import type { PageRoute } from './route.ts';
import { rowRoute } from './row.ts';
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
  ...queryRoutes,
  cancelRoute,
  stateRoute,
  assetRoute,
];
