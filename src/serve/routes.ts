import { resultRoutes } from './results.ts';
import type { Route } from './route.ts';

/** Every address that the server answers; the first match wins. */
export const routes: readonly Route[] = [...resultRoutes];
