import type { SeenSides } from '../account/moderation/moderation-of-account.js';
import type { SideStatus } from '../program.js';
import type { Decision } from '../decision.js';
import type { AccountRef } from '../scope.js';

/**
 * Moderating several referrals is a process over several accounts, recorded in a stream of its own:
 * requested, then agreed (every account is prepared) or refused, then completed. Any process may
 * resume an unfinished one; every step is idempotent.
 */
export interface ModerationItem {
  readonly referralId: string;
  readonly referred: SideStatus | undefined;
  readonly referrer: SideStatus | undefined;
  readonly referredAccount: AccountRef;
  readonly referrerAccount: AccountRef;
  /** Of one who decided on what a page showed; not there for clients. */
  readonly seen?: SeenSides | undefined;
}

export type ModerationEvent =
  | {
      readonly type: 'ModerationRequested';
      readonly at: number;
      readonly moderationId: string;
      readonly items: readonly ModerationItem[];
    }
  /** The point of no return: every account has agreed and holds its part. */
  | { readonly type: 'ModerationAgreed'; readonly at: number; readonly moderationId: string }
  | {
      readonly type: 'ModerationRefused';
      readonly at: number;
      readonly moderationId: string;
      readonly reasons: readonly string[];
    }
  | { readonly type: 'ModerationCompleted'; readonly at: number; readonly moderationId: string };

export type ModerationState =
  | { readonly status: 'absent' }
  | {
      readonly status: 'requested' | 'agreed' | 'refused' | 'completed';
      readonly requestedAt: number;
      readonly items: readonly ModerationItem[];
      /**
       * The reasons of a refusal, one line each, beginning with the referral's id. Empty otherwise.
       */
      readonly reasons: readonly string[];
    };

export const initialState: ModerationState = { status: 'absent' };

export function evolve(state: ModerationState, event: ModerationEvent): ModerationState {
  if (event.type === 'ModerationRequested') {
    return state.status === 'absent'
      ? { status: 'requested', requestedAt: event.at, items: event.items, reasons: [] }
      : state;
  }
  if (state.status === 'absent') return state;
  switch (event.type) {
    case 'ModerationAgreed':
      return { ...state, status: 'agreed' };
    case 'ModerationRefused':
      return { ...state, status: 'refused', reasons: event.reasons };
    case 'ModerationCompleted':
      return { ...state, status: 'completed' };
  }
}

export type ModerationCommand =
  | {
      readonly type: 'RequestModeration';
      readonly moderationId: string;
      readonly items: readonly ModerationItem[];
      readonly now: number;
    }
  | { readonly type: 'AgreeToModeration'; readonly moderationId: string; readonly now: number }
  | {
      readonly type: 'RefuseModeration';
      readonly moderationId: string;
      readonly reasons: readonly string[];
      readonly now: number;
    }
  | { readonly type: 'CompleteModeration'; readonly moderationId: string; readonly now: number };

/**
 * A step that was taken before, or with another outcome, is no error: the stream has the outcome.
 */
export function decide(
  state: ModerationState,
  command: ModerationCommand,
): Decision<ModerationEvent> {
  const { moderationId, now: at } = command;
  switch (command.type) {
    case 'RequestModeration':
      return {
        events:
          state.status === 'absent'
            ? [{ type: 'ModerationRequested', at, moderationId, items: command.items }]
            : [],
      };
    case 'AgreeToModeration':
      return {
        events:
          state.status === 'requested' ? [{ type: 'ModerationAgreed', at, moderationId }] : [],
      };
    case 'RefuseModeration':
      return {
        events:
          state.status === 'requested'
            ? [{ type: 'ModerationRefused', at, moderationId, reasons: command.reasons }]
            : [],
      };
    case 'CompleteModeration':
      return {
        events:
          state.status === 'agreed' ? [{ type: 'ModerationCompleted', at, moderationId }] : [],
      };
  }
}

export const MODERATION_ACTIONS = [
  'APPROVED',
  'DENIED',
  'REFERRER_APPROVED',
  'REFERRED_APPROVED',
  'REFERRER_DENIED',
  'REFERRED_DENIED',
] as const;
export type ModerationAction = (typeof MODERATION_ACTIONS)[number];

/** The effect of an action on each side; undefined: unchanged. */
export function sidesOf(action: ModerationAction): {
  readonly referred: SideStatus | undefined;
  readonly referrer: SideStatus | undefined;
} {
  switch (action) {
    case 'APPROVED':
      return { referred: 'APPROVED', referrer: 'APPROVED' };
    case 'DENIED':
      return { referred: 'DENIED', referrer: 'DENIED' };
    case 'REFERRER_APPROVED':
      return { referred: undefined, referrer: 'APPROVED' };
    case 'REFERRED_APPROVED':
      return { referred: 'APPROVED', referrer: undefined };
    case 'REFERRER_DENIED':
      return { referred: undefined, referrer: 'DENIED' };
    case 'REFERRED_DENIED':
      return { referred: 'DENIED', referrer: undefined };
  }
}
