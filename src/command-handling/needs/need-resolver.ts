import { isImported, type AccountEvent } from '../../domain/account/account.events.js';
import { announceReferral, withdrawReferral } from '../../domain/account/referral/announcements.js';
import { release as decideRelease } from '../../domain/customer/customer.decider.js';
import type { Decision } from '../../domain/decision.js';
import {
  codesKey,
  isLookup,
  NOTHING_PROVIDED,
  reservationKey,
  type Lookup,
  type Need,
  type NeededAnnouncement,
  type NeededImportedRow,
  type NeededRelease,
  type NeededReservation,
  type NeededRewardNaming,
  type NeededTankCode,
  type Provided,
} from '../../domain/need.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import type { EventLog } from '../../event-log/event-log.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { asNewCommand } from '../as-new-command.js';
import type { Streams } from '../streams.js';
import type { CodeOwners } from './code-owners.js';
import type { EarlierEvents } from './earlier-events.js';
import type { ImportedRows } from './imported-rows.js';
import type { NewSubjects } from './new-subjects.js';
import type { KeepsCode, Reservations, ReservationClaim } from './reservations.js';
import type { ReservedTankCode, TankCodes } from './tank-codes.js';

export interface NeedSources {
  readonly log: Pick<EventLog, 'epoch'>;
  readonly streams: Pick<Streams, 'accounts' | 'customers'>;
  readonly names: KeyedNames;
  readonly owners: CodeOwners;
  readonly reservations: Reservations;
  readonly subjects: NewSubjects;
  readonly tankCodes: TankCodes;
  readonly earlierEvents: EarlierEvents;
  readonly importedRows: ImportedRows;
  /** For claims, which last for minutes. */
  readonly clock: () => number;
  /** For facts of a ledger. */
  readonly now: (scope: Scope) => Promise<number>;
}

/** A fetched need: the member of `Provided`, its key there, and its value. */
type Fetched = {
  [K in keyof Provided]: readonly [member: K, key: string, value: Provided[K][string]];
}[keyof Provided];

/**
 * Fetches the needs of one command's decision.
 * Lookups are read in the command's turn, anew for each try: earlier ones would be as old as the
 * queue is long, and a referrer blocked meanwhile would earn. Needs that change another stream are
 * fetched between two tries, outside the turn: inside it, two accounts that refer each other would
 * deadlock, and finding a free code may take many reads.
 */
export class NeedResolver {
  private fetched = NOTHING_PROVIDED;
  private epoch: number;
  private readonly reserved: ReservationClaim[] = [];
  private readonly tankCodes: ReservedTankCode[] = [];
  private readonly announced: NeededAnnouncement[] = [];
  private readonly placed = new Set<string>();

  constructor(
    private readonly sources: NeedSources,
    private readonly meta: CommandMeta,
    private readonly account: AccountRef,
    /** Codes that are not generated: an import will assign them. */
    private readonly keepsCode: KeepsCode = () => false,
  ) {
    this.epoch = sources.log.epoch;
  }

  /** Decides with the fetched needs and with lookups read for this try. */
  async decide<E>(decideWith: (provided: Provided) => Decision<E>): Promise<Decision<E>> {
    for (let { provided } = this; ;) {
      const decision = decideWith(provided);
      const lookups = 'needs' in decision ? decision.needs.filter(isLookup) : [];
      if (lookups.length === 0) return decision;
      const { epoch } = this;
      const found = await Promise.all(lookups.map((lookup) => this.lookUp(lookup)));
      provided = found.reduce(withFetched, provided);
      if (this.sources.log.epoch !== epoch) ({ provided } = this);
    }
  }

  /** Empty after the log lost its end: the needs may include lost events. */
  private get provided(): Provided {
    const { epoch } = this.sources.log;
    if (epoch !== this.epoch) this.fetched = NOTHING_PROVIDED;
    this.epoch = epoch;
    return this.fetched;
  }

  /** Fetches all but lookups, in order, up to the first refused reservation. */
  async resolve(needs: readonly Need[]): Promise<void> {
    for (const need of needs) {
      if (isLookup(need)) continue;
      await this.fetch(need);
      if (
        need.kind === 'reservation' &&
        'refused' in (this.fetched.reservations[reservationKey(need)] ?? {})
      )
        return;
    }
  }

  /** Releases what these events do not record. After a crash reservations expire instead. */
  async settle(events: readonly AccountEvent[]): Promise<void> {
    await Promise.allSettled([
      this.sources.tankCodes.settle(this.meta, this.tankCodes, events),
      this.releaseUnused(events),
      this.withdrawUnused(events),
      this.giveUpUnused(events),
    ]);
  }

  private provide(...fetched: Fetched): void {
    this.fetched = withFetched(this.fetched, fetched);
  }

  private async lookUp(lookup: Lookup): Promise<Fetched> {
    const { owners, subjects, earlierEvents } = this.sources;
    const { scope } = this.meta;
    switch (lookup.kind) {
      case 'code-owner': {
        const { codes } = lookup;
        return ['codeOwners', codesKey(codes), await owners.firstOf(scope, codes)];
      }
      case 'referrer': {
        const { party } = lookup;
        return ['referrers', party.person, await owners.referrer(scope, party)];
      }
      case 'subject': {
        const { cause, from } = lookup;
        return ['subjects', cause, await subjects.firstWithKey(cause, from)];
      }
      case 'earlier-events': {
        const numbers = await earlierEvents.of(scope, this.account, lookup);
        return ['earlierEvents', lookup.person, numbers];
      }
      case 'customer': {
        const { streams, names } = this.sources;
        const { state } = await streams.customers.load(names.customerStream(scope, lookup.id));
        return ['customers', lookup.id, state];
      }
      case 'imported-referrer': {
        const { account, userId } = lookup;
        const found = await this.sources.importedRows.referrer(scope, lookup);
        return ['importedReferrers', codesKey([account, userId]), found];
      }
    }
  }

  private fetch(need: Exclude<Need, Lookup>): Promise<void> {
    switch (need.kind) {
      case 'tank-code':
        return this.reserveTankCode(need);
      case 'announcement':
        return this.announce(need);
      case 'reservation':
        return this.reserve(need);
      case 'customer-release':
        return this.releaseCustomer(need);
      case 'imported-row':
        return this.placeRow(need);
      case 'reward-naming':
        return this.nameReward(need);
    }
  }

  private async releaseCustomer({ customer, account }: NeededRelease): Promise<void> {
    const { streams, names, clock } = this.sources;
    const stream = names.customerStream(this.meta.scope, customer);
    await streams.customers.handle(stream, asNewCommand(this.meta), (state) =>
      decideRelease(state, { account, now: clock() }),
    );
  }

  private async placeRow(need: NeededImportedRow): Promise<void> {
    const place = await this.sources.importedRows.place(this.meta, this.account, need);
    if (place.account === this.account) this.placed.add(need.ref);
    this.provide('importedRows', need.ref, place);
  }

  private async giveUpUnused(events: readonly AccountEvent[]): Promise<void> {
    if (this.placed.size === 0 || events.some(isImported)) return;
    for (const ref of this.placed) {
      const { state } = await this.sources.streams.accounts.load(this.streamOf(this.account));
      if (state.remains.imported.has(ref)) continue;
      await this.sources.importedRows.giveUp(this.meta, this.account, ref);
    }
  }

  private async nameReward({ ref, referralId, side }: NeededRewardNaming): Promise<void> {
    const placed = await this.sources.importedRows.name(this.meta, ref, { referralId, side });
    this.provide('namedRewards', ref, placed);
  }

  private async reserveTankCode(need: NeededTankCode): Promise<void> {
    const reserved = await this.sources.tankCodes.reserve(this.meta, this.account, need);
    if (reserved) this.tankCodes.push(reserved);
    this.provide('tankCodes', need.rewardId, { code: reserved?.code ?? null, lapses: need.lapses });
  }

  private async reserve(need: NeededReservation): Promise<void> {
    const { meta, account, keepsCode } = this;
    const reserved = await this.sources.reservations.reserve(meta, account, need.what, keepsCode);
    const isRefused = 'refused' in reserved;
    if (!isRefused) this.reserved.push(reserved);
    const outcome = isRefused ? reserved : { code: reserved.code };
    this.provide('reservations', reservationKey(need), outcome);
  }

  private async releaseUnused(events: readonly AccountEvent[]): Promise<void> {
    const recorded = this.recordedBy(events);
    const unused = this.reserved.filter(({ stream }) => !recorded.has(stream));
    const now = this.sources.clock();
    await Promise.allSettled(
      unused.map((reserved) => this.sources.reservations.release(this.meta, reserved, now)),
    );
  }

  /** The streams of the codes and payment provider ids that these events record. */
  private recordedBy(events: readonly AccountEvent[]): ReadonlySet<string> {
    const { names } = this.sources;
    const { scope } = this.meta;
    return new Set(
      events.flatMap((event) => {
        if (event.type === 'ReferralCodeAssigned' && event.code.value !== null) {
          return [names.codeStream(scope, event.code.value)];
        }
        const isId =
          event.type === 'PaymentProviderIdSet' && event.paymentProviderId.value !== null;
        return isId
          ? [names.paymentProviderIdStream(scope, event.paymentProviderId.value ?? '')]
          : [];
      }),
    );
  }

  private async announce(need: NeededAnnouncement): Promise<void> {
    const { referralId, referrer } = need;
    const { streams, now } = this.sources;
    const outcome = await streams.accounts.handle(
      this.streamOf(referrer.account),
      asNewCommand(this.meta),
      async (state) =>
        announceReferral(state, {
          type: 'AnnounceReferral',
          referralId,
          account: this.account,
          person: referrer.person,
          now: await now(this.meta.scope),
        }),
    );
    if (outcome.kind !== 'accepted') throw new Error('the announcement of a referral was refused');
    // The referrer's account may have been deleted: then there is no announcement.
    if (outcome.state.status === 'absent') return;
    this.announced.push(need);
    const { announced, attribution } = outcome.state;
    const referredBy = attribution?.referrer ?? null;
    this.provide('announced', referralId, { announced, referredBy });
  }

  private async withdrawUnused(events: readonly AccountEvent[]): Promise<void> {
    const started = new Set(
      events.flatMap((event) => (event.type === 'ReferralStarted' ? [event.referralId] : [])),
    );
    for (const announcement of this.announced) {
      if (!started.has(announcement.referralId)) await this.withdraw(announcement);
    }
  }

  private async withdraw({ referralId, referrer }: NeededAnnouncement): Promise<void> {
    const { streams, now: nowOf } = this.sources;
    const { state: own } = await streams.accounts.load(this.streamOf(this.account));
    if (own.status === 'open' && own.referral?.referralId === referralId) return;
    await streams.accounts.handle(
      this.streamOf(referrer.account),
      asNewCommand(this.meta),
      async (state) => {
        const now = await nowOf(this.meta.scope);
        return withdrawReferral(state, { type: 'WithdrawReferral', referralId, now });
      },
    );
  }

  private streamOf(account: AccountRef): string {
    return this.sources.names.accountStream(this.meta.scope, account);
  }
}

const withFetched = (provided: Provided, [member, key, value]: Fetched): Provided => ({
  ...provided,
  [member]: { ...provided[member], [key]: value },
});
