import type { Operator, OperatorRole } from '../../config/operators.js';
import type { Scope } from '../../domain/scope.js';

const ALL: readonly OperatorRole[] = ['finance', 'support', 'viewer'];
const STAFF: readonly OperatorRole[] = ['finance', 'support'];
const FINANCE: readonly OperatorRole[] = ['finance'];
const SUPPORT: readonly OperatorRole[] = ['support'];

/**
 * A page in the sidebar. Its section is below the path of the tenant, or with `/console` in front a
 * page of all tenants; the letter after `g` opens it.
 */
type Row = readonly [
  section: string,
  label: string,
  icon: string,
  letter: string,
  roles: readonly OperatorRole[],
];
const entry = ([section, label, icon, key, roles]: Row) => ({ section, label, icon, key, roles });

const group = (label: string, ...rows: readonly Row[]) => ({ label, entries: rows.map(entry) });

/** The pages of the console by group; a page that a role cannot open is left out of its sidebar. */
const NAVIGATION = [
  group('', ['/console', 'Tenants', 'account', 't', ALL], ['', 'Overview', 'home', 'o', ALL]),
  group(
    'Customers',
    ['/users', 'Users', 'users', 'u', STAFF],
    ['/accounts', 'Accounts', 'account', 'a', ALL],
    ['/referrals', 'Referrals', 'referral', 'f', STAFF],
    ['/rewards', 'Rewards', 'gift', 'w', STAFF],
    ['/moderation', 'Moderation', 'shield', 'q', SUPPORT],
  ),
  group(
    'Finance',
    ['/balances', 'Balances', 'scale', 'b', STAFF],
    ['/statement', 'Statement', 'statement', 's', ['finance', 'viewer']],
    ['/reconcile', 'Reconcile', 'reconcile', 'r', FINANCE],
    ['/corrections', 'Corrections', 'edit', 'c', STAFF],
    ['/periods', 'Periods', 'calendar', 'm', FINANCE],
    ['/replay', 'Replay', 'replay', 'y', FINANCE],
    ['/verify', 'Verify', 'verify', 'v', FINANCE],
  ),
  group(
    'Delivery',
    ['/webhooks', 'Webhooks', 'webhook', 'h', SUPPORT],
    ['/mails', 'Mails', 'mail', 'i', SUPPORT],
    ['/payments', 'Payments', 'card', 'z', STAFF],
    ['/exports', 'Exports', 'export', 'e', STAFF],
    ['/imports', 'Imports', 'import', 'n', STAFF],
  ),
  group(
    'Program',
    ['/program', 'Program', 'program', 'g', SUPPORT],
    ['/theme', 'Theme', 'theme', 'l', SUPPORT],
    ['/settings', 'Settings', 'settings', 'k', SUPPORT],
  ),
  group(
    'System',
    ['/console/projections', 'Projections', 'projection', 'p', SUPPORT],
    ['/console/runs', 'Runs', 'run', 'j', STAFF],
    ['/console/activity', 'Activity', 'clock', 'x', STAFF],
  ),
];

export const hasRole = ({ roles }: Operator, wanted: readonly OperatorRole[]): boolean =>
  roles.some((role) => wanted.includes(role));

/** Whether an operator may open a page of the sidebar. @param section its path there. */
export const canOpen = (operator: Operator, section: string): boolean =>
  NAVIGATION.some(({ entries }) =>
    entries.some((one) => one.section === section && hasRole(operator, one.roles)),
  );

/** The path of a tenant's pages. */
export const tenantPath = ({ tenant, mode }: Scope): string =>
  `/console/tenants/${encodeURIComponent(tenant)}/${mode}`;

/** The tenant that pages of all tenants keep in their address, `demo/live`; undefined: none. */
export function scopeWithin(text: string): Scope | undefined {
  const [, tenant = '', mode] = /^([^/]{1,64})\/(live|test)$/.exec(text) ?? [];
  return mode === undefined ? undefined : { tenant, mode: mode as Scope['mode'] };
}

const withinOf = ({ tenant, mode }: Scope): string =>
  `?within=${encodeURIComponent(`${tenant}/${mode}`)}`;

/** The groups of the sidebar of an operator; without a tenant the pages of all tenants. */
export function sidebar(operator: Operator, scope: Scope | undefined, here: string | undefined) {
  return NAVIGATION.map(({ label, entries }) => ({
    label,
    entries: entries
      .filter(({ section, roles }) => hasRole(operator, roles) && isOf(section, scope))
      .map(({ section, ...shown }) => ({
        ...shown,
        path: pathOf(section, scope),
        isHere: section === here,
      })),
  })).filter(({ entries }) => entries.length > 0);
}

function pathOf(section: string, scope: Scope | undefined): string {
  if (scope === undefined || section === '/console') return section;
  return section.startsWith('/console/') ? section + withinOf(scope) : tenantPath(scope) + section;
}

const isOf = (section: string, scope: Scope | undefined): boolean =>
  scope !== undefined || section.startsWith('/console');

/** The name of a page, as the sidebar has it. @throws {Error} when it has none of that path. */
export function pageName(section: string): string {
  const found = NAVIGATION.flatMap(({ entries }) => entries).find((one) => one.section === section);
  if (found === undefined) throw new Error(`the sidebar has no page ${section}`);
  return found.label;
}
