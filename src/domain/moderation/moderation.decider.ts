import type { OperatorReason } from '../account/account.events.js';
import type { ObservedSides } from '../account/moderation/moderation-of-account.js';
import type { SideStatus } from '../program.js';
import { eventsIf, type Decision } from '../decision.js';
import type { Command, Fact } from '../fact.js';
import type { AccountRef } from '../scope.js';

/**
 * Moderates several referrals in a process over several accounts: requested, then agreed (every
 * account is prepared) or refused, then completed. Any process may resume it; every step is
 * idempotent.
 */
export interface ModerationItem {
  readonly referralId: string;
  readonly referred: SideStatus | undefined;
  readonly referrer: SideStatus | undefined;
  readonly referredAccount: AccountRef;
  readonly referrerAccount: AccountRef;
  /** The sides that the operator saw; absent for clients. */
  readonly seen?: ObservedSides | undefined;
  /** The same text for each side; absent for clients. */
  readonly reason?: Readonly<Record<'referred' | 'referrer', OperatorReason>>;
}

interface ModerationRef {
  moderationId: string;
}

export type ModerationEvent =
  | Fact<'ModerationRequested', ModerationRef & { items: readonly ModerationItem[] }>
  /** The point of no return: every account has agreed and holds its part. */
  | Fact<'ModerationAgreed', ModerationRef>
  | Fact<'ModerationRefused', ModerationRef & { reasons: readonly string[] }>
  | Fact<'ModerationCompleted', ModerationRef>;

export type ModerationState =
  | { readonly status: 'absent' }
  | {
      readonly status: 'requested' | 'agreed' | 'refused' | 'completed';
      readonly requestedAt: number;
      readonly items: readonly ModerationItem[];
      /** Reasons of a refusal, one line each, beginning with the referral's id. */
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
  | Command<'RequestModeration', ModerationRef & { items: readonly ModerationItem[] }>
  | Command<'AgreeToModeration' | 'CompleteModeration', ModerationRef>
  | Command<'RefuseModeration', ModerationRef & { reasons: readonly string[] }>;

/** A step that comes again, or with another outcome, is no error: the stream has the outcome. */
export function decide(
  state: ModerationState,
  command: ModerationCommand,
): Decision<ModerationEvent> {
  const { moderationId, now: at } = command;
  const { status } = state;
  switch (command.type) {
    case 'RequestModeration': {
      const { items } = command;
      return eventsIf(status === 'absent', {
        type: 'ModerationRequested',
        at,
        moderationId,
        items,
      });
    }
    case 'AgreeToModeration':
      return eventsIf(status === 'requested', { type: 'ModerationAgreed', at, moderationId });
    case 'RefuseModeration': {
      const { reasons } = command;
      return eventsIf(status === 'requested', {
        type: 'ModerationRefused',
        at,
        moderationId,
        reasons,
      });
    }
    case 'CompleteModeration':
      return eventsIf(status === 'agreed', { type: 'ModerationCompleted', at, moderationId });
  }
}

/** Status of each side after an action; undefined: unchanged. */
const SIDES = {
  APPROVED: { referred: 'APPROVED', referrer: 'APPROVED' },
  DENIED: { referred: 'DENIED', referrer: 'DENIED' },
  REFERRER_APPROVED: { referred: undefined, referrer: 'APPROVED' },
  REFERRED_APPROVED: { referred: 'APPROVED', referrer: undefined },
  REFERRER_DENIED: { referred: undefined, referrer: 'DENIED' },
  REFERRED_DENIED: { referred: 'DENIED', referrer: undefined },
} as const;

export type ModerationAction = keyof typeof SIDES;
export const MODERATION_ACTIONS = Object.keys(SIDES) as readonly ModerationAction[];

export const sidesOf = (action: ModerationAction): Pick<ModerationItem, 'referred' | 'referrer'> =>
  SIDES[action];
