import type { HTTPMethods } from 'fastify';
import findMyWay from 'find-my-way';
import type { AccessRule } from './access.js';

/** How paths are matched, by the framework's router and by ours. */
export const ROUTER_OPTIONS = {
  // `/reward/{id}/` and `/reward/{id}` are one route.
  ignoreTrailingSlash: true,
  caseSensitive: true,
  // Longer than a whole request line: the parsers refuse a parameter that is too long, not the
  // router.
  maxParamLength: 64 * 1024,
} as const;

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** The methods of each path, to distinguish another method (405) from an unknown path (404). */
export class RouteTable {
  private readonly router = findMyWay(ROUTER_OPTIONS);

  add(methods: HTTPMethods | readonly HTTPMethods[], url: string, access: AccessRule): void {
    for (const method of METHODS) {
      if (![methods].flat().includes(method) || this.router.hasRoute(method, url)) continue;
      this.router.on(method, url, () => undefined, access);
    }
  }

  /** The methods of this request target with such a rule; empty: not a route. */
  methodsOf(target: string, isServed: (access: AccessRule) => boolean): readonly string[] {
    return METHODS.filter((method) => {
      const found = this.router.find(method, target);
      // The router takes an empty segment for a parameter; a resource without an id is no route.
      return (
        found !== null &&
        isServed(found.store as AccessRule) &&
        Object.values(found.params).every((value) => value !== '')
      );
    });
  }
}
