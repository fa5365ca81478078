import { Map } from 'immutable';
import { only, type Decision } from '../decision.js';
import type { Ask, Fact } from '../fact.js';
import { withClaim } from '../reservation/reservation.decider.js';
import type { AccountRef } from '../scope.js';

/**
 * The tank codes of a tenant that are not free, one stream per mode: a code is handed out once,
 * whichever program or rule lists it. It is reserved before the account records the reward, and
 * handed out once that is recorded; a reservation that its account never recorded is released.
 *
 * Every reserving command makes its own claim, also beside claims of other commands for the same
 * reward, and releases only that claim: a command that did not record the code cannot free it while
 * another one is about to record it.
 */
export interface TankCodeHolder {
  readonly account: AccountRef;
  readonly rewardId: string;
}

interface OfCode {
  code: string;
  holder: TankCodeHolder;
}

export type TankCodeEvent =
  /** `claim`: the command's; null: one that no command can release. */
  | Fact<'TankCodeReserved', OfCode & { claim: string | null }>
  | Fact<'TankCodeHandedOut', OfCode>
  /** `claim`: the ended one; null: all of them. */
  | Fact<'TankCodeReleased', OfCode & { claim: string | null }>;

export interface TakenCode {
  readonly holder: TankCodeHolder;
  /** When it was last reserved, epoch milliseconds. */
  readonly since: number;
  /** Claims that are not released, at least one. */
  readonly claims: readonly (string | null)[];
}

export interface TankCodesState {
  /** The reward of each code that is not free. */
  readonly taken: Map<string, string>;
  readonly codeOfReward: Map<string, string>;
  /** Reserved and not yet handed out. */
  readonly reserved: Map<string, TakenCode>;
}

export const initialState: TankCodesState = {
  taken: Map(),
  codeOfReward: Map(),
  reserved: Map(),
};

export function evolve(state: TankCodesState, event: TankCodeEvent): TankCodesState {
  const { code, holder } = event;
  switch (event.type) {
    case 'TankCodeReserved': {
      const before = state.reserved.get(code);
      const claims = before?.holder.rewardId === holder.rewardId ? before.claims : [];
      return {
        taken: state.taken.set(code, holder.rewardId),
        codeOfReward: state.codeOfReward.set(holder.rewardId, code),
        reserved: state.reserved.set(code, {
          holder,
          since: event.at,
          claims: withClaim(claims, event.claim),
        }),
      };
    }
    case 'TankCodeHandedOut':
      return {
        taken: state.taken.set(code, holder.rewardId),
        codeOfReward: state.codeOfReward.set(holder.rewardId, code),
        reserved: state.reserved.delete(code),
      };
    case 'TankCodeReleased': {
      if (state.taken.get(code) !== holder.rewardId) return state;
      const before = state.reserved.get(code);
      const claims =
        event.claim === null ? [] : (before?.claims ?? []).filter((claim) => claim !== event.claim);
      if (before && claims.length > 0)
        return { ...state, reserved: state.reserved.set(code, { ...before, claims }) };
      return {
        taken: state.taken.delete(code),
        codeOfReward: state.codeOfReward.delete(holder.rewardId),
        reserved: state.reserved.delete(code),
      };
    }
  }
}

export type TankCodeCommand =
  /**
   * Takes the first free one of the codes, in their order. No events: the reward has its code, or
   * none is free.
   */
  | Ask<
      'ReserveTankCode',
      {
        codes: readonly string[];
        holder: TankCodeHolder;
        /** Names the command's claim; unique. */
        claim: string;
      }
    >
  | Ask<'HandOutTankCode', OfCode>
  /** Of the claim; null: of all claims, whose commands can no longer record it. */
  | Ask<'ReleaseTankCode', OfCode & { claim: string | null }>;

export function decide(state: TankCodesState, command: TankCodeCommand): Decision<TankCodeEvent> {
  const { holder, now: at } = command;
  switch (command.type) {
    case 'ReserveTankCode': {
      const own = state.codeOfReward.get(holder.rewardId);
      const isHandedOut = own !== undefined && !state.reserved.has(own);
      const code = own ?? command.codes.find((one) => !state.taken.has(one));
      if (code === undefined || isHandedOut) return { events: [] };
      return { events: [{ type: 'TankCodeReserved', at, code, holder, claim: command.claim }] };
    }
    case 'HandOutTankCode': {
      const { code } = command;
      // Also a code that was released by mistake, unless another reward has it since: an account
      // has recorded it.
      const isIts = reservedFor(state, command) !== undefined || !state.taken.has(code);
      return only(isIts, { type: 'TankCodeHandedOut', at, code, holder });
    }
    case 'ReleaseTankCode': {
      const { code, claim } = command;
      const reserved = reservedFor(state, command);
      const isClaimed =
        reserved !== undefined && (claim === null || reserved.claims.includes(claim));
      return only(isClaimed, { type: 'TankCodeReleased', at, code, holder, claim });
    }
  }
}

function reservedFor(
  { reserved }: TankCodesState,
  { code, holder }: { readonly code: string; readonly holder: TankCodeHolder },
): TakenCode | undefined {
  const found = reserved.get(code);
  return found?.holder.rewardId === holder.rewardId ? found : undefined;
}
