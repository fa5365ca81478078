import type { HTTPMethods } from 'fastify';
import findMyWay from 'find-my-way';
import type { AccessRule } from './access.js';

/** Options of the framework's router and of this table. */
export const ROUTER_OPTIONS = {
  // `/reward/{id}/` equals `/reward/{id}`.
  ignoreTrailingSlash: true,
  caseSensitive: true,
  // Longer than a request line: parsers reject long parameters themselves.
  maxParamLength: 64 * 1024,
} as const;

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/**
 * Whether the target has the pattern's fixed segments literally. The router also matches their
 * escaped forms, which a proxy's prefix rule would miss.
 */
export function isLiteral(pattern: string, target: string): boolean {
  if (!target.includes('%')) return true;
  const segments = (target.split(/[?#]/, 1)[0] ?? '').split('/');
  return pattern
    .split('/')
    .every((fixed, at) => fixed.includes(':') || fixed.includes('*') || segments[at] === fixed);
}

/** Excludes empty parameters, which the router matches: a resource needs an id. */
export const isMatch = (pattern: string, params: unknown, target: string): boolean =>
  !Object.values(Object(params) as object).includes('') && isLiteral(pattern, target);

const isMethod = (method: string): method is (typeof METHODS)[number] =>
  (METHODS as readonly string[]).includes(method);

/** The methods of each route: a wrong method is 405, an unknown path is 404. */
export class RouteTable {
  private readonly router = findMyWay(ROUTER_OPTIONS);

  add(methods: HTTPMethods | readonly HTTPMethods[], url: string, access: AccessRule): void {
    for (const method of [methods].flat())
      if (isMethod(method) && !this.router.hasRoute(method, url))
        this.router.on(method, url, () => undefined, { url, access });
  }

  /** The methods of a target under this condition; empty: not a route. */
  methodsOf(target: string, isServed: (access: AccessRule) => boolean): readonly string[] {
    return METHODS.filter((method) => {
      const found = this.router.find(method, target);
      // A target that cannot be decoded has no entry.
      const stored = found?.store as { readonly url: string; readonly access: AccessRule } | null;
      if (!found || !stored) return false;
      return isMatch(stored.url, found.params, target) && isServed(stored.access);
    });
  }
}
