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

const SUMMARIES = {
  tenant: 'tenants, their keys and settings',
  program: 'the programs of a tenant',
  operator: 'operators and their keys',
  ledger: 'the ledger of a tenant, for finance',
  projection: 'the read models: status, rebuilds, parked streams',
  release: 'the change from one release of the service to another',
  policy: 'parked reactions to events: list, retry, skip',
  webhook: 'endpoints that receive events',
  mail: 'mails to the people of a tenant',
  theme: 'words and colours of a tenant',
  import: 'people, referrals and rewards of another program',
  export: 'files with the data of a tenant',
  payment: 'the payment provider of a tenant',
  log: 'the event log as a whole',
  key: 'the master key: its state and its rotation',
  privacy: 'erasures of personal data',
  activity: 'what operators did',
};

const MODULES: Readonly<Record<keyof typeof SUMMARIES, Parameters<typeof group>[2]>> = {
  tenant: () => import('../tenants/tenant.operations.js'),
  program: () => import('../tenants/program.operations.js'),
  operator: () => import('../operators/operator.operations.js'),
  ledger: () => import('../ledger/ledger.operations.js'),
  projection: () => import('../projections/projection.operations.js'),
  release: () => import('../releases/release.operations.js'),
  policy: () => import('../policies/policy.operations.js'),
  webhook: () => import('../webhooks/webhook.operations.js'),
  mail: () => import('../mails/mail.operations.js'),
  theme: () => import('../themes/theme.operations.js'),
  import: () => import('../imports/import.operations.js'),
  export: () => import('../exports/export.operations.js'),
  payment: () => import('../payments/payment.operations.js'),
  log: () => import('../log/log.operations.js'),
  key: () => import('../keys/key.operations.js'),
  privacy: () => import('../privacy/privacy.operations.js'),
  activity: () => import('../activity/activity.operations.js'),
};

/**
 * The operations by group, in the order of the help. The command line loads the group of its
 * command only, which makes it start twice as fast.
 */
export const GROUPS: readonly Group[] = (Object.keys(SUMMARIES) as (keyof typeof SUMMARIES)[]).map(
  (name) => group(name, SUMMARIES[name], MODULES[name]),
);

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
