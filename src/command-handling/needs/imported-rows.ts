import type { AccountState } from '../../domain/account/account.state.js';
import { importedIdOf } from '../../domain/account/imports/imported-rows.js';
import { referralOf } from '../../domain/account/referral/former-referrals.js';
import type { ImportedReferrer } from '../../domain/account/referral/referral-parties.js';
import { partyIds } from '../../domain/account/rewards/rewards.js';
import {
  giveUp,
  nameReward,
  place,
  type ImportedRowState,
  type RewardNaming,
} from '../../domain/imported-row/imported-row.decider.js';
import type {
  NeededImportedReferrer,
  NeededImportedRow,
  PlacedReward,
  PlacedRow,
  RecordedSide,
} from '../../domain/need.js';
import { personal } from '../../domain/personal.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import { accountOfId, idWithin, type KeyedNames } from '../../privacy/keyed-names.js';
import { asNewCommand } from '../as-new-command.js';
import type { Streams } from '../streams.js';
import { lapse } from './lapse.js';

/** From this age on, a row that its account never recorded may be placed in another one. */
const UNRECORDED_MS = 120_000;

/** Rows of an import with an id: their accounts, and the referrals that name rewards. */
export class ImportedRows {
  constructor(
    private readonly streams: Pick<Streams, 'accounts' | 'importedRows'>,
    private readonly names: KeyedNames,
    private readonly clock: () => number,
  ) {}

  /** Places the row in the account, unless another one has it. */
  async place(
    meta: CommandMeta,
    account: AccountRef,
    { ref, lapses }: NeededImportedRow,
  ): Promise<PlacedRow> {
    const { scope } = meta;
    const { placed, namings } = await this.handle(meta, ref, async (state) => {
      const now = this.clock();
      const another = state.placed?.account === account ? null : state.placed;
      const isOld = another !== null && another.since < now - UNRECORDED_MS;
      const isAbandoned = isOld && (await this.lapse(meta, another.account, ref));
      return place(state, account, { isAbandoned, now });
    });
    const isAnother = placed !== null && placed.account !== account;
    const sides = await Promise.all(namings.map((naming) => this.sideOf(scope, ref, naming)));
    return {
      account: placed?.account ?? account,
      entry:
        (isAnother && (await this.stateOf(scope, placed.account)).remains.imported.get(ref)) ||
        null,
      lapses,
      sides: sides.filter((side) => side !== undefined),
    };
  }

  async giveUp(meta: CommandMeta, account: AccountRef, ref: string): Promise<void> {
    await this.handle(meta, ref, (state) => giveUp(state, account, this.clock()));
  }

  /** Records the side of the reward; returns the reward if it was imported before. */
  async name(meta: CommandMeta, ref: string, naming: RewardNaming): Promise<PlacedReward | null> {
    const { placed } = await this.handle(meta, ref, (state) =>
      nameReward(state, naming, this.clock()),
    );
    if (placed === null) return null;
    const { account } = placed;
    const state = await this.stateOf(meta.scope, account);
    const entry = state.remains.imported.get(ref);
    if (entry === undefined) return null;
    const reward = state.status === 'open' ? state.rewards.get(entry.ledgerId ?? '') : undefined;
    return { account, persons: entry.persons, referralId: reward?.referralId ?? null };
  }

  /** Null: no such user. */
  async referrer(
    scope: Scope,
    { account, userId }: NeededImportedReferrer,
  ): Promise<ImportedReferrer | null> {
    const state = await this.stateOf(scope, account);
    const person = state.status === 'open' ? state.personsByUserId.get(userId) : undefined;
    if (state.status === 'absent' || person === undefined) return null;
    return {
      party: { account, person, ids: personal(person, partyIds(state, person)) },
      referredBy: state.attribution?.referrer ?? null,
      formerReferrals: [...state.remains.formerReferrals.keys()],
      primaryCodes: Object.fromEntries(state.users.get(person)?.primaryCodes ?? []),
    };
  }

  /** A command that stalls after it placed the row must place it again. */
  private lapse(meta: CommandMeta, account: AccountRef, ref: string): Promise<boolean> {
    const stream = this.names.accountStream(meta.scope, account);
    const what = { kind: 'imported-row', ref } as const;
    return lapse(this.streams, stream, meta, { what, clock: this.clock });
  }

  private async stateOf(scope: Scope, account: AccountRef): Promise<AccountState> {
    return (await this.streams.accounts.load(this.names.accountStream(scope, account))).state;
  }

  /** Undefined: no recorded referral names the reward for this side. */
  private async sideOf(
    scope: Scope,
    ref: string,
    { referralId, side }: RewardNaming,
  ): Promise<RecordedSide | undefined> {
    const state = await this.stateOf(scope, accountOfId(referralId) ?? '');
    const referral = referralOf(state, referralId);
    if (!referral) return undefined;
    const { account, person } = referral[side];
    return referral.named?.[side] === idWithin(account, importedIdOf(ref))
      ? { referralId, side, status: referral[`${side}Status`], account, person }
      : undefined;
  }

  private async handle(
    meta: CommandMeta,
    ref: string,
    decide: Parameters<Streams['importedRows']['handle']>[2],
  ): Promise<ImportedRowState> {
    const stream = this.names.importedRowStream(meta.scope, ref);
    const outcome = await this.streams.importedRows.handle(stream, asNewCommand(meta), decide);
    if (outcome.kind !== 'accepted') throw new Error('a row of an import was refused its place');
    return outcome.state;
  }
}
