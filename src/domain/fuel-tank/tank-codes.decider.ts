import { Map } from 'immutable';
import { eventsIf, type Decision } from '../decision.js';
import type { Command, Fact } from '../fact.js';
import { withClaim } from '../reservation/reservation.decider.js';
import type { AccountRef } from '../scope.js';

/**
 * A tenant's tank codes that are not free, in one stream per mode: each code is handed out once,
 * whichever rules list it. A code is reserved before the account records the reward, and handed out
 * afterwards; an unrecorded reservation is released.
 * Each command makes its own claim, in addition to claims of other commands for the same reward,
 * and releases only that one: it cannot free a code that another command is about to record.
 */
export interface TankCodeHolder {
  readonly account: AccountRef;
  readonly rewardId: string;
}

interface RewardCode {
  code: string;
  holder: TankCodeHolder;
}

export type TankCodeEvent =
  /** `claim`: of the command; null: no command can release it. */
  | Fact<'TankCodeReserved', RewardCode & { claim: string | null }>
  | Fact<'TankCodeHandedOut', RewardCode>
  /** `claim`: the ended one; null: all. */
  | Fact<'TankCodeReleased', RewardCode & { claim: string | null }>;

export interface TakenCode {
  readonly holder: TankCodeHolder;
  /** Newest reservation, epoch milliseconds. */
  readonly since: number;
  /** Unreleased claims, at least one. */
  readonly claims: readonly (string | null)[];
}

export interface TankCodesState {
  /** Reward by code. */
  readonly taken: Map<string, string>;
  readonly codeOfReward: Map<string, string>;
  /** Reserved and not handed out yet. */
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
  /** Takes the first free code. No events: the reward has its code, or none is free. */
  | Command<
      'ReserveTankCode',
      {
        codes: readonly string[];
        holder: TankCodeHolder;
        /** Unique id of the command's claim. */
        claim: string;
      }
    >
  | Command<'HandOutTankCode', RewardCode>
  /** Releases the claim, or all (null) when their commands can no longer record the code. */
  | Command<'ReleaseTankCode', RewardCode & { claim: string | null }>;

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
      // Includes a code released by mistake, unless another reward has it: an account has recorded
      // it.
      const isIts = reservedFor(state, command) !== undefined || !state.taken.has(code);
      return eventsIf(isIts, { type: 'TankCodeHandedOut', at, code, holder });
    }
    case 'ReleaseTankCode': {
      const { code, claim } = command;
      const reserved = reservedFor(state, command);
      const isClaimed =
        reserved !== undefined && (claim === null || reserved.claims.includes(claim));
      return eventsIf(isClaimed, { type: 'TankCodeReleased', at, code, holder, claim });
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
