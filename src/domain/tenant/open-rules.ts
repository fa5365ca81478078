interface CallWindow {
  /** By default. */
  readonly calls: number;
  readonly windowSeconds: number;
}

/** By name in `RateLimit-Policy`; per tenant and address where not stated otherwise. */
const WINDOWS = {
  'create-user': { calls: 50, windowSeconds: 86_400 },
  'look-up-user': { calls: 100, windowSeconds: 3_600 },
  'user-by-code': { calls: 100, windowSeconds: 3_600 },
  code: { calls: 100, windowSeconds: 3_600 },
  'apply-code': { calls: 100, windowSeconds: 3_600 },
  'list-referrals': { calls: 100, windowSeconds: 3_600 },
  'post-events': { calls: 1_000, windowSeconds: 3_600 },
  'short-link': { calls: 300, windowSeconds: 60 },
  'test-webhook': { calls: 1_000, windowSeconds: 3_600 },
  'preview-mail': { calls: 20, windowSeconds: 3_600 },
  // Mail providers call it for their users, from few addresses.
  unsubscribe: { calls: 1_000, windowSeconds: 60 },
} as const satisfies Readonly<Record<string, CallWindow>>;

export type CountedCall = keyof typeof WINDOWS;
export const CALL_WINDOWS: Readonly<Record<CountedCall, CallWindow>> = WINDOWS;
export const COUNTED_CALLS = Object.keys(WINDOWS) as readonly CountedCall[];

/** Public view of a code's owner: `minimal` omits e-mail and last name. */
export const PUBLIC_USERS = ['full', 'minimal'] as const;
export type PublicUser = (typeof PUBLIC_USERS)[number];

export interface OpenRules {
  /** A user token without `exp` is refused. */
  readonly tokensMustExpire: boolean;
  /** Origins whose pages may read answers; empty: all. */
  readonly allowedOrigins: readonly string[];
  /** Calls per window that differ from the default. */
  readonly rateLimits: Readonly<Partial<Record<CountedCall, number>>>;
  /** Missing in rules of earlier releases: `full`. */
  readonly publicUser?: PublicUser;
}

export const DEFAULT_OPEN_RULES: OpenRules = {
  tokensMustExpire: false,
  allowedOrigins: [],
  rateLimits: {},
};

export const publicUserOf = ({ publicUser = 'full' }: OpenRules): PublicUser => publicUser;

/** Missing members keep their value, limits are merged. */
export function changedRules(before: OpenRules, changes: Partial<OpenRules>): OpenRules {
  const publicUser = publicUserOf({ ...before, ...changes });
  return {
    tokensMustExpire: changes.tokensMustExpire ?? before.tokensMustExpire,
    allowedOrigins: changes.allowedOrigins ?? before.allowedOrigins,
    rateLimits: { ...before.rateLimits, ...changes.rateLimits },
    ...(publicUser === 'full' ? {} : { publicUser }),
  };
}
