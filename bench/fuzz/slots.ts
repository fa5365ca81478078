import fc from 'fast-check';

/** What the state of the service holds, by the name of a parameter or member. */
const SLOTS = {
  tenant: 'tenant tenantAlias',
  mode: 'mode',
  account: 'accountId account referringAccountId referredAccountId',
  user: 'userId user referringUserId referredUserId query',
  code: 'code couponCode referredByCodes',
  'new-code': 'referralCode',
  reward: 'id',
  credit: 'creditId',
  referral: 'referralId',
  run: 'runId',
  export: 'exportId',
  endpoint: 'url endpoint endpointUrl',
  delivery: 'delivery',
  proposal: 'proposal',
  projection: 'projection',
  position: 'position resumeFrom Ledger-Position-At-Least',
  key: 'Idempotency-Key',
  cookie: 'cookieId',
  payment: 'paymentProviderId',
  tank: 'fuelTankCode',
  unit: 'unit',
  approver: 'approvedBy',
  email: 'email',
  'mail-to': 'sendTo',
  provider: 'apiBase',
  'provider-key': 'secretKey',
  'provider-secret': 'webhookSecret',
};
/** What a slot is filled with; see `LedgerValues`. */
export type SlotKind = keyof typeof SLOTS | 'text';

const SLOT_OF = new Map(
  Object.entries(SLOTS).flatMap(([kind, names]) =>
    names.split(' ').map((name) => [name, kind as SlotKind]),
  ),
);

export const slotOf = (name: string): SlotKind | undefined => SLOT_OF.get(name);

/**
 * A place in a generated request for a value that is known when the request is sent: of an earlier
 * answer, of the tenant, or a new one.
 */
export class Slot {
  constructor(
    readonly kind: SlotKind,
    /** Decides which of the values. */
    readonly draw: number,
    /** Follows a text. */
    readonly tail = '',
  ) {}
}

/** A text of a path that is sent as it is, without percent-encoding. */
export class RawText {
  constructor(readonly text: string) {}
}

/** Without the bias of fast-check towards small numbers. */
export const drawn: fc.Arbitrary<number> = fc.noBias(fc.nat());

/** The value with every slot filled, in depth. */
export function filled(value: unknown, fill: (slot: Slot) => unknown): unknown {
  if (value instanceof Slot) return fill(value);
  if (Array.isArray(value)) return value.map((item) => filled(item, fill));
  if (typeof value !== 'object' || value === null || value instanceof RawText) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, filled(member, fill)]),
  );
}
