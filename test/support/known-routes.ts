import type { FastifyInstance } from 'fastify';
import type { RunningService } from './running-service.js';

/** Every method and path template that the router knows, as `GET /api/v1/{tenantAlias}/users`. */
export function knownRoutes({ service }: RunningService): readonly string[] {
  const server: FastifyInstance = service.app.getHttpAdapter().getInstance();
  const branch: string[] = [];
  return server
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', piece = '', methods] = /^((?:│ {3}| {4})*)[├└]── (\S+)(?: \((.*)\))?$/.exec(line) ?? [];
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
