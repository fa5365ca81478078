import type { Operation } from './operation.js';

interface Group {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<readonly Operation[]>;
}

/** @param load the module of the group. */
export const group = (
  name: string,
  summary: string,
  load: () => Promise<{ readonly operations: readonly Operation[] }>,
): Group => ({ name, summary, load: async () => (await load()).operations });

/**
 * The operations by group, in the order of the help. The command line loads the group of its
 * command only, which makes it start twice as fast.
 */
export const GROUPS: readonly Group[] = [
  group(
    'tenant',
    'tenants, their keys and settings',
    () => import('../tenants/tenant.operations.js'),
  ),
  group('program', 'the programs of a tenant', () => import('../tenants/program.operations.js')),
  group(
    'operator',
    'operators and their keys',
    () => import('../operators/operator.operations.js'),
  ),
  group(
    'ledger',
    'the ledger of a tenant, for finance',
    () => import('../ledger/ledger.operations.js'),
  ),
  group(
    'projection',
    'the read models: status, rebuilds, parked streams',
    () => import('../projections/projection.operations.js'),
  ),
  group(
    'release',
    'the change from one release of the service to another',
    () => import('../releases/release.operations.js'),
  ),
  group(
    'policy',
    'parked reactions to events: list, retry, skip',
    () => import('../policies/policy.operations.js'),
  ),
  group(
    'webhook',
    'endpoints that receive events',
    () => import('../webhooks/webhook.operations.js'),
  ),
  group('mail', 'mails to the people of a tenant', () => import('../mails/mail.operations.js')),
  group('theme', 'words and colours of a tenant', () => import('../themes/theme.operations.js')),
  group(
    'import',
    'people, referrals and rewards of another program',
    () => import('../imports/import.operations.js'),
  ),
  group(
    'export',
    'files with the data of a tenant',
    () => import('../exports/export.operations.js'),
  ),
  group(
    'payment',
    'the payment provider of a tenant',
    () => import('../payments/payment.operations.js'),
  ),
  group('log', 'the event log as a whole', () => import('../log/log.operations.js')),
  group(
    'key',
    'the master key: its state and its rotation',
    () => import('../keys/key.operations.js'),
  ),
  group('privacy', 'erasures of personal data', () => import('../privacy/privacy.operations.js')),
  group('activity', 'what operators did', () => import('../activity/activity.operations.js')),
];

/** The operations of all groups. */
export async function allOperations(): Promise<readonly Operation[]> {
  const groups = await Promise.all(GROUPS.map(({ load }) => load()));
  return groups.flat();
}

/** `ledger replay`; undefined: there is none of this name. */
export async function operationNamed(name: string): Promise<Operation | undefined> {
  const found = GROUPS.find((one) => name.startsWith(`${one.name} `));
  return (await found?.load())?.find((operation) => operation.name === name);
}
