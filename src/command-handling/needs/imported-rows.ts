import type { ImportedEntry } from '../../domain/account/account.state.js';
import { importedIdOf } from '../../domain/account/imports/imported-rows.js';
import { referralOf } from '../../domain/account/referral/former-referrals.js';
import type { ImportedReferrer } from '../../domain/account/referral/referral-parties.js';
import { partyIds } from '../../domain/account/rewards/rewards.js';
import {
  giveUp,
  nameReward,
  place,
  type ImportedRowState,
  type Naming,
} from '../../domain/imported-row/imported-row.decider.js';
import type {
  NeededImportedReferrer,
  PlacedReward,
  PlacedRow,
  RecordedSide,
} from '../../domain/need.js';
import { personal } from '../../domain/personal.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import { timeNow } from '../../foundation/world.js';
import { accountOfId, idWithin, type KeyedNames } from '../../privacy/keyed-names.js';
import { asNewCommand } from '../as-new-command.js';
import type { Streams } from '../streams.js';

/** Age from which a row that its account never recorded may be placed in another one. */
const UNRECORDED_MS = 120_000;

/** Rows of an import with an id: their accounts, and the referrals that name rewards. */
export class ImportedRows {
  constructor(
    private readonly streams: Pick<Streams, 'accounts' | 'importedRows'>,
    private readonly names: KeyedNames,
  ) {}

  /** Places the row in the account, unless another one has it. */
  async place(meta: CommandMeta, account: AccountRef, ref: string): Promise<PlacedRow> {
    const { scope } = meta;
    let entry: ImportedEntry | null = null;
    const { placed, namings } = await this.handle(meta, ref, async (state) => {
      const now = timeNow();
      const another = state.placed?.account === account ? null : state.placed;
      entry = another && (await this.entryOf(scope, another.account, ref));
      const isAbandoned = entry === null && (another?.since ?? now) < now - UNRECORDED_MS;
      return place(state, account, { isAbandoned, now });
    });
    const sides = await Promise.all(namings.map((naming) => this.sideOf(scope, ref, naming)));
    return {
      account: placed?.account ?? account,
      entry,
      sides: sides.filter((side) => side !== undefined),
    };
  }

  async giveUp(meta: CommandMeta, account: AccountRef, ref: string): Promise<void> {
    await this.handle(meta, ref, (state) => giveUp(state, account, timeNow()));
  }

  /** Notes the side; answers with the reward if it was imported before. */
  async name(meta: CommandMeta, ref: string, naming: Naming): Promise<PlacedReward | null> {
    const { placed } = await this.handle(meta, ref, (state) =>
      nameReward(state, naming, timeNow()),
    );
    const entry = placed && (await this.entryOf(meta.scope, placed.account, ref));
    return placed && entry && { account: placed.account, persons: entry.persons };
  }

  /** Null: no such user. */
  async referrer(
    scope: Scope,
    { account, userId }: NeededImportedReferrer,
  ): Promise<ImportedReferrer | null> {
    const { state } = await this.streams.accounts.load(this.names.accountStream(scope, account));
    const person = state.status === 'open' ? state.personsByUserId.get(userId) : undefined;
    if (state.status === 'absent' || person === undefined) return null;
    return {
      party: { account, person, ids: personal(person, partyIds(state, person)) },
      referredBy: state.attribution?.referrer ?? null,
      formerReferrals: [...state.remains.formerReferrals.keys()],
      primaryCodes: Object.fromEntries(state.users.get(person)?.primaryCodes ?? []),
    };
  }

  private async entryOf(
    scope: Scope,
    account: AccountRef,
    ref: string,
  ): Promise<ImportedEntry | null> {
    const { state } = await this.streams.accounts.load(this.names.accountStream(scope, account));
    return state.remains.imported.get(ref) ?? null;
  }

  /** Undefined: no recorded referral names the reward for this side. */
  private async sideOf(
    scope: Scope,
    ref: string,
    { referralId, side }: Naming,
  ): Promise<RecordedSide | undefined> {
    const referred = accountOfId(referralId) ?? '';
    const { state } = await this.streams.accounts.load(this.names.accountStream(scope, referred));
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
