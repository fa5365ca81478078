import type { HTTPMethods } from 'fastify';
import findMyWay from 'find-my-way';

/** How paths are matched, by the framework's router and by ours. */
export const ROUTER_OPTIONS = {
  // `/reward/{id}/` and `/reward/{id}` are one route.
  ignoreTrailingSlash: true,
  caseSensitive: true,
  // More than a whole request line can hold: a parameter that is too long is for the parsers to
  // judge, not for the router.
  maxParamLength: 64 * 1024,
} as const;

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/**
 * Remembers which methods a path has, so that another method is told apart from an unknown path.
 */
export class RouteTable {
  private readonly router = findMyWay(ROUTER_OPTIONS);

  add(methods: HTTPMethods | readonly HTTPMethods[], url: string): void {
    for (const method of METHODS) {
      if (![methods].flat().includes(method) || this.router.hasRoute(method, url)) continue;
      this.router.on(method, url, () => undefined);
    }
  }

  /** The methods that this request target has; empty: it is no route. */
  methodsOf(target: string): readonly string[] {
    return METHODS.filter((method) => {
      const found = this.router.find(method, target);
      // The router takes an empty segment for a parameter; a resource without an id is no route.
      return found !== null && Object.values(found.params).every((value) => value !== '');
    });
  }
}
