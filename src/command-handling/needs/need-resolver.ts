import type { AccountEvent } from '../../domain/account/account.events.js';
import { announceReferral, withdrawReferral } from '../../domain/account/announcements.js';
import { NOTHING_PROVIDED, type Need, type NeededAnnouncement, type Provided } from '../../domain/need.js';
import type { AccountRef } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { asNewCommand } from '../as-new-command.js';
import type { Streams } from '../streams.js';
import type { ReservedTankCode, TankCodes } from './tank-codes.js';

/**
 * Gets for one command what its decision turned out to need, between two tries to decide it and outside the queue of its account:
 * two accounts that refer each other would wait for each other there.
 */
export class NeedResolver {
  provided: Provided = NOTHING_PROVIDED;
  private readonly tankCodes: ReservedTankCode[] = [];
  private readonly announced: NeededAnnouncement[] = [];

  constructor(
    private readonly streams: Pick<Streams, 'accounts'>,
    private readonly names: KeyedNames,
    private readonly pools: TankCodes,
    private readonly meta: CommandMeta,
    private readonly account: AccountRef,
    private readonly clock: () => number,
  ) {}

  async resolve(needs: readonly Need[]): Promise<void> {
    for (const need of needs) {
      switch (need.kind) {
        case 'tank-code': {
          const reserved = await this.pools.reserve(this.meta, this.account, need);
          if (reserved) this.tankCodes.push(reserved);
          const provided = { code: reserved?.code ?? null, lapses: need.lapses };
          this.provided = { ...this.provided, tankCodes: { ...this.provided.tankCodes, [need.rewardId]: provided } };
          break;
        }
        case 'announcement':
          await this.announce(need);
          break;
        // See Claims.
        case 'reservation':
          break;
      }
    }
  }

  /**
   * Once the command has its outcome: what it did not use after all is given back.
   * @param events what it brought about.
   */
  async settle(events: readonly AccountEvent[]): Promise<void> {
    await this.pools.settle(this.meta, this.tankCodes, events);
    const started = new Set(events.flatMap((event) => (event.type === 'ReferralStarted' ? [event.referralId] : [])));
    for (const announcement of this.announced) if (!started.has(announcement.referralId)) await this.withdraw(announcement);
  }

  private async announce(need: NeededAnnouncement): Promise<void> {
    const { referralId, referrer } = need;
    const command = { type: 'AnnounceReferral', referralId, account: this.account, person: referrer.person, now: this.clock() } as const;
    const outcome = await this.streams.accounts.handle(this.streamOf(referrer.account), asNewCommand(this.meta), (state) =>
      announceReferral(state, command),
    );
    if (outcome.kind !== 'accepted') throw new Error('a referral could not be announced');
    // Deleted a moment ago: the next try to decide finds no referrer.
    if (outcome.state.status === 'absent') return;
    this.announced.push(need);
    this.provided = { ...this.provided, announced: { ...this.provided.announced, [referralId]: outcome.state.announced } };
  }

  private async withdraw({ referralId, referrer }: NeededAnnouncement): Promise<void> {
    const { state: own } = await this.streams.accounts.load(this.streamOf(this.account));
    if (own.status === 'open' && own.referral?.referralId === referralId) return;
    await this.streams.accounts.handle(this.streamOf(referrer.account), asNewCommand(this.meta), (state) =>
      withdrawReferral(state, { type: 'WithdrawReferral', referralId, now: this.clock() }),
    );
  }

  private streamOf(account: AccountRef): string {
    return this.names.accountStream(this.meta.scope, account);
  }
}
