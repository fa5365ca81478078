import { Map } from 'immutable';
import type { Decision } from '../refusal.js';
import type { AccountRef } from '../scope.js';

/**
 * The tank codes of a tenant that are not free, one stream per mode: a code is handed out once, whichever program or rule lists it.
 * It is reserved before the account records the reward, and handed out once that is recorded; a reservation whose account never
 * recorded it is released.
 */
export interface TankCodeHolder {
  readonly account: AccountRef;
  readonly rewardId: string;
}

export type TankCodeEvent =
  | { readonly type: 'TankCodeReserved'; readonly at: number; readonly code: string; readonly holder: TankCodeHolder }
  | { readonly type: 'TankCodeHandedOut'; readonly at: number; readonly code: string; readonly holder: TankCodeHolder }
  | { readonly type: 'TankCodeReleased'; readonly at: number; readonly code: string; readonly holder: TankCodeHolder };

export interface TakenCode {
  readonly holder: TankCodeHolder;
  /** When it was reserved, epoch milliseconds. */
  readonly since: number;
}

export interface TankCodesState {
  /** The reward that has each code that is not free. */
  readonly taken: Map<string, string>;
  readonly codeOfReward: Map<string, string>;
  /** Reserved and not yet handed out. */
  readonly reserved: Map<string, TakenCode>;
}

export const initialState: TankCodesState = { taken: Map(), codeOfReward: Map(), reserved: Map() };

export function evolve(state: TankCodesState, { type, at, code, holder }: TankCodeEvent): TankCodesState {
  switch (type) {
    case 'TankCodeReserved':
      return {
        taken: state.taken.set(code, holder.rewardId),
        codeOfReward: state.codeOfReward.set(holder.rewardId, code),
        reserved: state.reserved.set(code, { holder, since: at }),
      };
    case 'TankCodeHandedOut':
      return {
        taken: state.taken.set(code, holder.rewardId),
        codeOfReward: state.codeOfReward.set(holder.rewardId, code),
        reserved: state.reserved.delete(code),
      };
    case 'TankCodeReleased':
      return state.taken.get(code) !== holder.rewardId
        ? state
        : {
            taken: state.taken.delete(code),
            codeOfReward: state.codeOfReward.delete(holder.rewardId),
            reserved: state.reserved.delete(code),
          };
  }
}

export type TankCodeCommand =
  /** Takes the first free one of the codes, in their order. No facts: the reward has its code already, or none is free. */
  | { readonly type: 'ReserveTankCode'; readonly codes: readonly string[]; readonly holder: TankCodeHolder; readonly now: number }
  | { readonly type: 'HandOutTankCode' | 'ReleaseTankCode'; readonly code: string; readonly holder: TankCodeHolder; readonly now: number };

export function decide(state: TankCodesState, command: TankCodeCommand): Decision<TankCodeEvent> {
  const { holder, now: at } = command;
  switch (command.type) {
    case 'ReserveTankCode': {
      if (state.codeOfReward.has(holder.rewardId)) return { events: [] };
      const code = command.codes.find((candidate) => !state.taken.has(candidate));
      return { events: code === undefined ? [] : [{ type: 'TankCodeReserved', at, code, holder }] };
    }
    case 'HandOutTankCode':
      // Also one that was released by mistake, unless another reward has it since: an account has recorded it.
      return {
        events:
          isReservedFor(state, command) || !state.taken.has(command.code)
            ? [{ type: 'TankCodeHandedOut', at, code: command.code, holder }]
            : [],
      };
    case 'ReleaseTankCode':
      return { events: isReservedFor(state, command) ? [{ type: 'TankCodeReleased', at, code: command.code, holder }] : [] };
  }
}

const isReservedFor = (
  { reserved }: TankCodesState,
  { code, holder }: { readonly code: string; readonly holder: TankCodeHolder },
): boolean => reserved.get(code)?.holder.rewardId === holder.rewardId;
