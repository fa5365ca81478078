import type { FastifyInstance } from 'fastify';
import { isCompiled, type RunningService } from './running-service.js';

/** What describes the interface is not in the description. */
const DESCRIPTION = [
  '/',
  '/openapi.json',
  '/docs',
  '/docs/errors',
  '/docs/start.js',
  '/docs/reference.css',
  '/docs/viewer.js',
];

/** The routes of the console, which are not described: pages for people. */
export const consoleRoutes = ({ service }: Pick<RunningService, 'service'>): readonly string[] =>
  routesOf(service.app.getHttpAdapter().getInstance()).filter(isOfConsole);

const isOfConsole = (route: string): boolean => / \/console(?:\/|$)/.test(route);

/** Every other method and path template, as `GET /api/v1/{tenantAlias}/users`. */
export function knownRoutes({ service, description }: RunningService): readonly string[] {
  if (isCompiled) {
    const described = Object.entries(description.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    return [...described, ...DESCRIPTION.map((path) => `GET ${path}`)];
  }
  const routes = routesOf(service.app.getHttpAdapter().getInstance());
  // `OPTIONS *` lets preflight requests in.
  return routes.filter((route) => !isOfConsole(route) && route !== 'OPTIONS *');
}

function routesOf(server: FastifyInstance): readonly string[] {
  const branch: string[] = [];
  return server
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', piece = '', methods] =
        /^((?:│ {3}| {4})*)[├└]── (\S+)(?: \((.*)\))?$/.exec(line) ?? [];
      if (piece === '') return [];
      branch.length = indent.length / 4;
      branch.push(piece);
      const template = branch.join('').replace(/:(\w+)/g, '{$1}');
      return (methods ?? '')
        .split(', ')
        .filter((method) => method !== '' && method !== 'HEAD')
        .map((method) => `${method} ${template}`);
    });
}
