import type { Party } from '../../domain/account/account.events.js';
import type { UserState } from '../../domain/account/account.state.js';
import type { CodeOwner, Referrer } from '../../domain/account/referral/referral-parties.js';
import { partyIds } from '../../domain/account/rewards/rewards.js';
import type { ProvidedCodeOwner } from '../../domain/need.js';
import { personal } from '../../domain/personal.js';
import type { Scope } from '../../domain/scope.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { Streams } from '../streams.js';

/** Finds the owner of a code in the log, by its reservation and account. */
export class CodeOwners {
  constructor(
    private readonly streams: Streams,
    private readonly names: KeyedNames,
  ) {}

  /** Null: the code has no owner. */
  async find(
    scope: Scope,
    code: string,
  ): Promise<(CodeOwner & { readonly referrer: Referrer; readonly since: number }) | null> {
    const { state: reservation } = await this.streams.reservations.load(
      this.names.codeStream(scope, code),
    );
    if (reservation.status === 'free' || reservation.holder.person === null) return null;
    const { account, person } = reservation.holder;
    const { state } = await this.streams.accounts.load(this.names.accountStream(scope, account));
    const user = state.status === 'open' ? state.users.get(person) : undefined;
    const held = user?.codes.get(code.toLowerCase());
    const referrer = asReferrer(user);
    if (state.status === 'absent' || !referrer || !held) return null;
    const party: Party = { account, person, ids: personal(person, partyIds(state, person)) };
    return {
      code: held.code,
      programId: held.programId,
      since: held.since,
      party,
      referredBy: state.attribution?.referrer ?? null,
      formerReferrals: [...state.remains.formerReferrals.keys()],
      referrer,
    };
  }

  /** Epoch milliseconds; 0: not reserved. */
  async reservedAt(scope: Scope, code: string): Promise<number> {
    const { state } = await this.streams.reservations.load(this.names.codeStream(scope, code));
    return state.status === 'held' ? state.since : 0;
  }

  /** The first code that has an owner, with the owner's newest state. */
  async firstOf(scope: Scope, codes: readonly string[]): Promise<ProvidedCodeOwner> {
    for (const code of codes) {
      const found = await this.find(scope, code);
      if (!found) continue;
      const { referrer, since: _since, ...owner } = found;
      return { owner, referrer };
    }
    return { owner: null, referrer: null };
  }

  /** The newest state of the party; null: the person was deleted. */
  async referrer(scope: Scope, party: Party): Promise<Referrer | null> {
    const { state } = await this.streams.accounts.load(
      this.names.accountStream(scope, party.account),
    );
    return asReferrer(state.status === 'open' ? state.users.get(party.person) : undefined);
  }
}

const asReferrer = (user: UserState | undefined): Referrer | null =>
  user?.profile ? { blocked: user.dateBlocked !== null, likeness: user.profile } : null;
