import type { Operator, OperatorRole } from '../../config/operators.js';
import type { Scope } from '../../domain/scope.js';
import { CSRF_FIELD, type ConsoleSession } from '../sessions/console-gate.js';
import { TEXTS } from '../texts.js';
import { NO_FAULTS, type Faults } from './faults.js';
import { asHtml, partial, template } from './templates.js';

/** The member of an address that says what was done. */
export const DONE = 'done';
export type DoneKey = keyof typeof TEXTS.done;
export const isDoneKey = (value: unknown): value is DoneKey =>
  typeof value === 'string' && Object.hasOwn(TEXTS.done, value);

/** What frames the content of a page. */
export interface Frame {
  readonly title: string;
  readonly session: ConsoleSession | null;
  /** The tenant that the page is about. */
  readonly scope?: Scope;
  /** Where the page is in the navigation: the path below that of the tenant, or of the console. */
  readonly section?: string;
  /** Why its form was refused: the page is answered with 400. */
  readonly faults?: Faults;
  /** What was done by the form before. */
  readonly done?: DoneKey | undefined;
  /** Of a page of test mode, ISO 8601. */
  readonly testClock?: string | null;
  /** Seconds until the page is loaded again, where no script runs. */
  readonly refreshSeconds?: number;
}

interface NavigationEntry {
  readonly section: string;
  readonly label: string;
  readonly roles: readonly OperatorRole[];
}

const EVERYBODY: readonly OperatorRole[] = ['finance', 'support', 'viewer'];

/** Pages of a tenant. */
export const TENANT_SECTIONS: readonly NavigationEntry[] = [
  { section: '', label: TEXTS.sections.overview, roles: EVERYBODY },
  { section: '/statement', label: TEXTS.sections.statement, roles: ['finance', 'viewer'] },
  { section: '/replay', label: TEXTS.sections.replay, roles: ['finance'] },
  { section: '/reconcile', label: TEXTS.sections.reconcile, roles: ['finance'] },
  { section: '/corrections', label: TEXTS.sections.corrections, roles: ['finance'] },
  { section: '/periods', label: TEXTS.sections.periods, roles: ['finance'] },
  { section: '/events', label: TEXTS.sections.events, roles: ['finance'] },
  { section: '/verify', label: TEXTS.sections.verify, roles: ['finance'] },
  { section: '/moderation', label: TEXTS.sections.moderation, roles: ['support'] },
  { section: '/webhooks', label: TEXTS.sections.webhooks, roles: ['support'] },
  { section: '/exports', label: TEXTS.sections.exports, roles: ['support'] },
  { section: '/mails', label: TEXTS.sections.mails, roles: ['support'] },
  { section: '/payments', label: TEXTS.sections.payments, roles: ['finance', 'support'] },
  { section: '/settings', label: TEXTS.sections.settings, roles: ['support'] },
  { section: '/program', label: TEXTS.sections.program, roles: ['support'] },
  { section: '/theme', label: TEXTS.sections.theme, roles: ['support'] },
];

export const hasRole = ({ roles }: Operator, wanted: readonly OperatorRole[]): boolean =>
  roles.some((role) => wanted.includes(role));

/** The path of a tenant's pages. */
export const tenantPath = ({ tenant, mode }: Scope): string =>
  `/console/tenants/${encodeURIComponent(tenant)}/${mode}`;

partial(
  'problems',
  `{{#if problems.length}}<div class="problem" role="alert">{{#each problems}}<div>{{this}}</div>{{/each}}</div>{{/if}}`,
);

partial('csrf', `<input type="hidden" name="${CSRF_FIELD}" value="{{@root.csrf}}">`);

const layout = template(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
{{#if refreshSeconds}}<noscript><meta http-equiv="refresh" content="{{refreshSeconds}}"></noscript>{{/if}}
<title>{{title}} · ${TEXTS.layout.product}</title>
<link rel="icon" href="/console/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/console/assets/console.css">
<script src="/console/assets/console.js" defer></script>
</head>
<body>
<a class="skip" href="#content">${TEXTS.layout.skip}</a>
{{#if operator}}
<header>
<a class="home" href="/console">${TEXTS.layout.product}</a>
<nav aria-label="${TEXTS.layout.console}">{{#each main}}<a href="{{path}}"{{#if isHere}} aria-current="page"{{/if}}>{{label}}</a>{{/each}}</nav>
<form method="post" action="/console/session/end">{{> csrf}}<span class="who">{{operator}} <span class="roles">{{roles}}</span></span> <button class="quiet">${TEXTS.layout.signOut}</button></form>
</header>
{{#if testClock}}<p class="note" role="note">${TEXTS.layout.testClock} {{time testClock}}</p>{{/if}}
{{#if scope}}
<nav class="tenant" aria-label="${TEXTS.layout.tenant}">
<span class="place"><a href="{{scope.path}}">{{scope.alias}}</a> <span class="mode {{scope.mode}}">{{scope.mode}}</span> <a class="switch" href="{{scope.otherPath}}">${TEXTS.layout.modeOf('{{scope.other}}')}</a></span>
{{#each links}}<a href="{{path}}"{{#if isHere}} aria-current="page"{{/if}}>{{label}}</a>{{/each}}
</nav>
{{/if}}
{{/if}}
<main id="content">
<h1>{{title}}</h1>
{{> problems}}
{{#if done}}<p class="done" role="status">{{done}}</p>{{/if}}
{{content}}
</main>
{{#if operator}}<footer class="zone" data-zone>${TEXTS.layout.zone}</footer>{{/if}}
</body>
</html>
`);

/** A whole page. @param content HTML. */
export function page(frame: Frame, content: string): string {
  const { title, session, scope, section, faults = NO_FAULTS, done, refreshSeconds = 0 } = frame;
  const { testClock = null } = frame;
  const operator = session?.operator;
  const links =
    operator === undefined || scope === undefined
      ? []
      : TENANT_SECTIONS.filter(({ roles }) => hasRole(operator, roles)).map((entry) => ({
          path: tenantPath(scope) + entry.section,
          label: entry.label,
          isHere: entry.section === section,
        }));
  const main = [
    { path: '/console', label: TEXTS.sections.tenants, roles: EVERYBODY },
    {
      path: '/console/projections',
      label: TEXTS.sections.projections,
      roles: ['support'] as const,
    },
    { path: '/console/runs', label: TEXTS.sections.runs, roles: ['support', 'finance'] as const },
  ]
    .filter(({ roles }) => operator !== undefined && hasRole(operator, roles))
    .map(({ path, label }) => ({ path, label, isHere: path === section }));
  return layout({
    title,
    refreshSeconds,
    testClock,
    operator: operator?.name ?? null,
    roles: operator?.roles.join(', ') ?? '',
    csrf: session?.csrf ?? '',
    scope: scope === undefined ? null : shownScope(scope),
    links,
    main,
    problems: faults.problems,
    done: done === undefined ? null : TEXTS.done[done],
    content: asHtml(content),
  });
}

function shownScope(scope: Scope) {
  const other = scope.mode === 'live' ? 'test' : 'live';
  return {
    alias: scope.tenant,
    mode: scope.mode,
    path: tenantPath(scope),
    other,
    otherPath: tenantPath({ ...scope, mode: other }),
  } as const;
}
