import type { Party } from '../../domain/account/account.events.js';
import type { UserState } from '../../domain/account/account.state.js';
import type { CodeOwner } from '../../domain/account/referral.js';
import { partyIds } from '../../domain/account/rewards.js';
import { personal } from '../../domain/personal.js';
import type { Scope } from '../../domain/scope.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { Streams } from '../streams.js';

/** Finds the people that a decision is about in the log itself: the code's reservation, then its holder's account. Never a read model. */
export class CodeOwners {
  constructor(
    private readonly streams: Streams,
    private readonly names: KeyedNames,
  ) {}

  /** Whose code it is; null when nobody has it (any more). */
  async find(scope: Scope, code: string): Promise<(CodeOwner & { readonly user: UserState; readonly since: number }) | null> {
    const { state: reservation } = await this.streams.reservations.load(this.names.codeStream(scope, code));
    if (reservation.status === 'free' || reservation.holder.person === null) return null;
    const { account, person } = reservation.holder;
    const { state } = await this.streams.accounts.load(this.names.accountStream(scope, account));
    const user = state.status === 'open' ? state.users.get(person) : undefined;
    const held = user?.codes.get(code.toLowerCase());
    if (state.status === 'absent' || !user?.profile || !held) return null;
    const party: Party = { account, person, ids: personal(person, partyIds(state, person)) };
    return { code: held.code, programId: held.programId, since: held.since, party, user };
  }

  /** When the code was reserved, epoch milliseconds, whoever has it; 0: nobody has it. */
  async reservedAt(scope: Scope, code: string): Promise<number> {
    const { state } = await this.streams.reservations.load(this.names.codeStream(scope, code));
    return state.status === 'held' ? state.since : 0;
  }

  /** The first of several codes that anybody has. */
  async firstOf(scope: Scope, codes: readonly string[]): Promise<CodeOwner | null> {
    for (const code of codes) {
      const owner = await this.find(scope, code);
      if (owner) return { code: owner.code, programId: owner.programId, party: owner.party };
    }
    return null;
  }

  /** The party as of now; null when the person is gone. */
  async person(scope: Scope, party: Party): Promise<UserState | null> {
    const { state } = await this.streams.accounts.load(this.names.accountStream(scope, party.account));
    const user = state.status === 'open' ? state.users.get(party.person) : undefined;
    return user?.profile ? user : null;
  }
}
