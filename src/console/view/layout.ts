import { MODES, modeOf, type Scope } from '../../domain/scope.js';
import type { ConsoleSession } from '../sessions/console-gate.js';
import { TEXTS } from '../texts.js';
import { NO_FAULTS, type Faults } from './faults.js';
import { scopeWithin, sidebar, tenantPath } from './navigation.js';
import { asHtml, template } from './templates.js';

/** The member of an address that says what was done. */
export const DONE = 'done';
export type DoneKey = keyof typeof TEXTS.done;
export const isDoneKey = (value: unknown): value is DoneKey =>
  typeof value === 'string' && Object.hasOwn(TEXTS.done, value);

/** What was done, in words; a text with a number is a figure. */
export interface DoneNote {
  readonly words: string;
  /** Null: no figure. */
  readonly figure: { readonly name: DoneKey; readonly value: number } | null;
}

export function doneNote(key: DoneKey, count: number): DoneNote {
  const text = TEXTS.done[key];
  return typeof text === 'string'
    ? { words: text, figure: null }
    : { words: text(count), figure: { name: key, value: count } };
}

/** What frames the content of a page. */
export interface Frame {
  readonly title: string;
  readonly session: ConsoleSession | null;
  /** The tenant that the page is about. */
  readonly scope?: Scope;
  /** The tenant from which a page of all tenants was opened, see `scopeWithin`. */
  readonly within?: string;
  /** Where the page is in the navigation: the path below that of the tenant, or of the console. */
  readonly section?: string;
  /** Why its form was refused: the page is answered with 400. */
  readonly faults?: Faults;
  /** What was done by the form before. */
  readonly done?: DoneNote | undefined;
  /** Of a page of test mode, ISO 8601. */
  readonly testClock?: string | null;
  /** Next to the title: what the days of the page are, say. */
  readonly headNote?: string;
  /** Loads the chart library. */
  readonly hasCharts?: boolean;
  /** The text that was searched. */
  readonly searched?: string;
  /** Seconds until the page is loaded again, where no script runs. */
  readonly refreshSeconds?: number;
}

const layout = template('layout');

/** A whole page. @param content HTML. */
export function page(frame: Frame, content: string): string {
  const { title, session, section, faults = NO_FAULTS, done, headNote = '' } = frame;
  const scope = frame.scope ?? scopeWithin(frame.within ?? '');
  const operator = session?.operator;
  const path = scope === undefined ? '/console' : tenantPath(scope);
  return layout({
    title,
    headNote,
    refreshSeconds: frame.refreshSeconds ?? 0,
    testClock: frame.testClock ?? null,
    hasCharts: frame.hasCharts ?? false,
    operator: operator?.name ?? null,
    roles: operator?.roles.join(', ') ?? '',
    csrf: session?.csrf ?? '',
    scope: scope === undefined ? null : shownScope(scope),
    groups: operator === undefined ? [] : sidebar(operator, scope, section),
    searchPath: path,
    searched: frame.searched ?? '',
    searchHint: scope === undefined ? 'Search all tenants' : `Search ${scope.tenant}`,
    problems: faults.problems,
    done: done ?? null,
    content: asHtml(content),
  });
}

function shownScope(scope: Scope) {
  const modes = MODES.map((mode) => ({
    mode,
    label: mode === 'live' ? 'Live' : 'Test',
    path: tenantPath({ ...scope, mode }),
    isHere: mode === modeOf(scope.mode),
  }));
  return { alias: scope.tenant, path: tenantPath(scope), modes };
}
