import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import type { Scope } from '../../domain/scope.js';
import { isSeen, WAITS_MS } from '../../domain/customer/customer.state.js';
import { elapsed, timeNow } from '../../foundation/world.js';
import type { Connection } from '../../postgres/statements.js';
import type { ProviderEvent } from '../payment-provider.js';
import { countWaiting } from './payment-rows.js';
import { reservationOfCustomer, type KeyedNames } from '../../privacy/keyed-names.js';
import { isInUse } from '../../domain/reservation/reservation.decider.js';

interface WaitingEventsParts {
  /** Events of customers that no account has, counted up to the bound. */
  readonly count: (scope: Scope, bound: number) => Promise<number>;
  readonly streams: Pick<ReadableStreams, 'reservations' | 'customers'>;
  readonly names: Pick<KeyedNames, 'customerStream' | 'providerEventRef'>;
}

/** Of a tenant and mode: 1.2 GB of the log and 1 GB of tables beside it. */
const WAITING_MAX = 1_000_000;
/** A tenant that has few of them is counted again after this time. */
const COUNTED_MS = 60_000;

/** Counted in the database. */
export const waitingEventsOf = ({
  pool,
  streams,
  names,
}: Omit<WaitingEventsParts, 'count'> & { readonly pool: Connection }): WaitingEvents =>
  new WaitingEvents({
    streams,
    names,
    count: (scope, bound) => countWaiting(pool, scope, { since: timeNow() - WAITS_MS, bound }),
  });

/**
 * Bounds what is kept for customers that no account has: anybody may be a customer of a tenant's
 * provider. Events of customers that an account has always have room.
 */
export class WaitingEvents {
  private readonly full = new Map<string, { readonly isFull: boolean; readonly until: number }>();

  constructor(
    private readonly parts: WaitingEventsParts,
    private readonly waitingMax = WAITING_MAX,
  ) {}

  /** An event that is recorded already needs no room. */
  async hasRoomFor(
    scope: Scope,
    { id, customer }: Pick<ProviderEvent, 'id' | 'customer'>,
  ): Promise<boolean> {
    if (customer === null || !(await this.isFull(scope))) return true;
    const { streams, names } = this.parts;
    const stream = names.customerStream(scope, customer);
    const { state: reservation } = await streams.reservations.load(reservationOfCustomer(stream));
    if (isInUse(reservation)) return true;
    const { state: known } = await streams.customers.load(stream);
    return isSeen(known, names.providerEventRef(scope, id));
  }

  private async isFull(scope: Scope): Promise<boolean> {
    const key = `${scope.tenant} ${scope.mode}`;
    const known = this.full.get(key);
    if (known !== undefined && known.until > elapsed()) return known.isFull;
    const isFull = (await this.parts.count(scope, this.waitingMax)) >= this.waitingMax;
    this.full.set(key, { isFull, until: elapsed() + COUNTED_MS });
    return isFull;
  }
}
