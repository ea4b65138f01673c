import { homeRoute } from './home.ts';
import { resultRoutes } from './results.ts';
import type { Route } from './route.ts';
import { assetRoute } from './static.ts';

/** Every address that the server answers; the first match wins. */
export const routes: readonly Route[] = [homeRoute, ...resultRoutes, assetRoute];
