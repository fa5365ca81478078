/** What recorded operations are about, for the filter of Activity. */

/** Of sessions of the console. */
export const SESSION_OPERATIONS = {
  signedIn: 'console sign-in',
  signedOut: 'console sign-out',
  refused: 'console refused',
} as const;

const SESSIONS: readonly string[] = Object.values(SESSION_OPERATIONS);

/** Names of operations, or their first words. */
const KINDS = {
  sessions: SESSIONS,
  customers: ['user', 'reward', 'referral'],
  finance: ['ledger'],
  delivery: ['webhook', 'mail', 'payment', 'export', 'import'],
  program: ['program', 'theme', 'tenant'],
  system: ['projection', 'policy', 'key', 'log', 'privacy', 'release', 'operator'],
  /** Pages with personal data. */
  personal: ['console', 'export download'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type ActivityKind = keyof typeof KINDS;
export const ACTIVITY_KINDS = Object.keys(KINDS) as readonly ActivityKind[];

/** Without accesses to personal data, which are very many. */
export const USUAL_KINDS = ACTIVITY_KINDS.filter((kind) => kind !== 'personal');

export function kindOf(operation: string): ActivityKind {
  const [group = ''] = operation.split(' ');
  const among = (name: string) =>
    ACTIVITY_KINDS.find((kind) => (KINDS[kind] as readonly string[]).includes(name));
  return among(operation) ?? among(group) ?? 'system';
}

/** The operations of these kinds, for a query. */
export function operationsOf(kinds: readonly ActivityKind[]) {
  const others = ACTIVITY_KINDS.filter((kind) => !kinds.includes(kind));
  const named = (some: readonly ActivityKind[]): readonly string[] =>
    some.flatMap((kind): readonly string[] => KINDS[kind]);
  return {
    operations: named(kinds),
    except: named(others).filter((name) => name.includes(' ')),
  };
}
