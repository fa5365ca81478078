import { Map } from 'immutable';
import type { Decision } from '../decision.js';
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

export type TankCodeEvent =
  | {
      readonly type: 'TankCodeReserved';
      readonly at: number;
      readonly code: string;
      readonly holder: TankCodeHolder;
      /** The command's claim; null: a claim that no command can release. */
      readonly claim: string | null;
    }
  | {
      readonly type: 'TankCodeHandedOut';
      readonly at: number;
      readonly code: string;
      readonly holder: TankCodeHolder;
    }
  | {
      readonly type: 'TankCodeReleased';
      readonly at: number;
      readonly code: string;
      readonly holder: TankCodeHolder;
      /** The ended claim; null: all of them. */
      readonly claim: string | null;
    };

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
  /**
   * How many codes have become free again: without a change, the taken codes of a pool are still
   * taken.
   */
  readonly freed: number;
}

export const initialState: TankCodesState = {
  taken: Map(),
  codeOfReward: Map(),
  reserved: Map(),
  freed: 0,
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
        freed: state.freed,
      };
    }
    case 'TankCodeHandedOut':
      return {
        taken: state.taken.set(code, holder.rewardId),
        codeOfReward: state.codeOfReward.set(holder.rewardId, code),
        reserved: state.reserved.delete(code),
        freed: state.freed,
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
        freed: state.freed + 1,
      };
    }
  }
}

export type TankCodeCommand =
  /**
   * Takes the first free one of the codes, in their order. No events: the reward has its code, or
   * none is free.
   */
  | {
      readonly type: 'ReserveTankCode';
      readonly codes: readonly string[];
      /** All codes before this index are taken. */
      readonly from: number;
      readonly holder: TankCodeHolder;
      /** Names the command's claim; unique. */
      readonly claim: string;
      readonly now: number;
    }
  | {
      readonly type: 'HandOutTankCode';
      readonly code: string;
      readonly holder: TankCodeHolder;
      readonly now: number;
    }
  | {
      readonly type: 'ReleaseTankCode';
      readonly code: string;
      readonly holder: TankCodeHolder;
      /** Null: all claims, of commands that can no longer record it. */
      readonly claim: string | null;
      readonly now: number;
    };

export function decide(state: TankCodesState, command: TankCodeCommand): Decision<TankCodeEvent> {
  const { holder, now: at } = command;
  switch (command.type) {
    case 'ReserveTankCode': {
      const own = state.codeOfReward.get(holder.rewardId);
      const isHandedOut = own !== undefined && !state.reserved.has(own);
      const code = own ?? firstFree(state, command);
      return {
        events:
          code === undefined || isHandedOut
            ? []
            : [{ type: 'TankCodeReserved', at, code, holder, claim: command.claim }],
      };
    }
    case 'HandOutTankCode':
      // Also a code that was released by mistake, unless another reward has it since: an account
      // has recorded it.
      return {
        events:
          reservedFor(state, command) || !state.taken.has(command.code)
            ? [{ type: 'TankCodeHandedOut', at, code: command.code, holder }]
            : [],
      };
    case 'ReleaseTankCode': {
      const { code, claim } = command;
      const reserved = reservedFor(state, command);
      const isClaimed =
        reserved !== undefined && (claim === null || reserved.claims.includes(claim));
      return { events: isClaimed ? [{ type: 'TankCodeReleased', at, code, holder, claim }] : [] };
    }
  }
}

function firstFree(
  { taken }: TankCodesState,
  { codes, from }: { readonly codes: readonly string[]; readonly from: number },
) {
  for (let place = from; place < codes.length; place++) {
    const code = codes[place];
    if (code !== undefined && !taken.has(code)) return code;
  }
  return undefined;
}

function reservedFor(
  { reserved }: TankCodesState,
  { code, holder }: { readonly code: string; readonly holder: TankCodeHolder },
): TakenCode | undefined {
  const found = reserved.get(code);
  return found?.holder.rewardId === holder.rewardId ? found : undefined;
}
