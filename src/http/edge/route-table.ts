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

/**
 * Whether the fixed segments of a route's pattern stand in the target as they are. The router
 * matches an escaped form of them, too, which a proxy's rule on a prefix does not see.
 */
export function isLiteral(pattern: string, target: string): boolean {
  if (!target.includes('%')) return true;
  const segments = (target.split(/[?#]/, 1)[0] ?? '').split('/');
  return pattern
    .split('/')
    .every((fixed, at) => fixed.includes(':') || fixed.includes('*') || segments[at] === fixed);
}

/** The router matches an empty parameter, too; a resource without an id is no route. */
export const isMatch = (pattern: string, params: unknown, target: string): boolean =>
  !Object.values(Object(params) as object).includes('') && isLiteral(pattern, target);

const isMethod = (method: string): method is (typeof METHODS)[number] =>
  (METHODS as readonly string[]).includes(method);

/**
 * The routes by their methods: to know those of a path, and to distinguish another method (405)
 * from an unknown path (404).
 */
export class RouteTable {
  private readonly router = findMyWay(ROUTER_OPTIONS);

  add(methods: HTTPMethods | readonly HTTPMethods[], url: string, access: AccessRule): void {
    for (const method of [methods].flat())
      if (isMethod(method) && !this.router.hasRoute(method, url))
        this.router.on(method, url, () => undefined, { url, access });
  }

  /** The methods of this request target with such a rule; empty: not a route. */
  methodsOf(target: string, isServed: (access: AccessRule) => boolean): readonly string[] {
    return METHODS.filter((method) => {
      const found = this.router.find(method, target);
      // Of a target that cannot be decoded nothing was stored.
      const stored = found?.store as { readonly url: string; readonly access: AccessRule } | null;
      if (!found || !stored) return false;
      return isMatch(stored.url, found.params, target) && isServed(stored.access);
    });
  }
}
