import type { Operation } from './operation.js';

type Group = {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<readonly Operation[]>;
};

/**
 * The operations by group, in the order of the help. The command line loads the group of its
 * command only, which makes it start twice as fast.
 */
export const GROUPS: readonly Group[] = [
  {
    name: 'policy',
    summary: 'parked reactions to events: list, retry, skip',
    load: async () => (await import('../policies/policy.operations.js')).policyOperations,
  },
  {
    name: 'mail',
    summary: 'mails to the people of a tenant',
    load: async () => (await import('../mails/mail.operations.js')).mailOperations,
  },
  {
    name: 'theme',
    summary: 'words and colours of a tenant',
    load: async () => (await import('../themes/theme.operations.js')).themeOperations,
  },
];

/** The operations of all groups. */
export async function allOperations(): Promise<readonly Operation[]> {
  const groups = await Promise.all(GROUPS.map(({ load }) => load()));
  return groups.flat();
}
