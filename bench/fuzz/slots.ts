import fc from 'fast-check';

/** What a slot is filled with; see `LedgerValues`. */
export type SlotKind =
  | 'account'
  | 'user'
  | 'code'
  | 'new-code'
  | 'reward'
  | 'credit'
  | 'funded'
  | 'referral'
  | 'run'
  | 'export'
  | 'endpoint'
  | 'delivery'
  | 'proposal'
  | 'provider'
  | 'provider-key'
  | 'provider-secret'
  | 'cookie'
  | 'payment'
  | 'tank'
  | 'event'
  | 'key'
  | 'new-key'
  | 'position'
  | 'text'
  | 'email'
  | 'mail-to'
  | 'url'
  | 'tenant'
  | 'mode'
  | 'future'
  | 'past';

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

export const slot = (kind: SlotKind): fc.Arbitrary<Slot> =>
  drawn.map((draw) => new Slot(kind, draw));

/** The value with every slot filled, in depth. */
export function filled(value: unknown, fill: (slot: Slot) => unknown): unknown {
  if (value instanceof Slot) return fill(value);
  if (Array.isArray(value)) return value.map((item) => filled(item, fill));
  if (typeof value !== 'object' || value === null || value instanceof RawText) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, filled(member, fill)]),
  );
}
