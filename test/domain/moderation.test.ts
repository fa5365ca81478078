import {
  decide,
  evolve,
  initialState,
  MODERATION_ACTIONS,
  sidesOf,
  type ModerationCommand,
  type ModerationEvent,
  type ModerationItem,
} from '../../src/domain/moderation/moderation.decider.js';
import { NOW } from './support/account-scenario.js';

const items: readonly ModerationItem[] = [
  {
    referralId: 'referral',
    referred: 'DENIED',
    referrer: undefined,
    referredAccount: 'a'.repeat(32),
    referrerAccount: 'b'.repeat(32),
  },
];
const moderationId = 'm';
const requested: ModerationEvent = { type: 'ModerationRequested', at: 1, moderationId, items };
const agreed: ModerationEvent = { type: 'ModerationAgreed', at: 2, moderationId };
const refusedFor: ModerationEvent = {
  type: 'ModerationRefused',
  at: 2,
  moderationId,
  reasons: ['referral: why'],
};
const completed: ModerationEvent = { type: 'ModerationCompleted', at: 3, moderationId };

const REQUEST: ModerationCommand = { type: 'RequestModeration', moderationId, items, now: NOW };
const AGREE: ModerationCommand = { type: 'AgreeToModeration', moderationId, now: NOW };
const REFUSE: ModerationCommand = {
  type: 'RefuseModeration',
  moderationId,
  reasons: ['referral: why'],
  now: NOW,
};
const COMPLETE: ModerationCommand = { type: 'CompleteModeration', moderationId, now: NOW };

const fold = (events: readonly ModerationEvent[]) => events.reduce(evolve, initialState);

// Every command at every stage: one leads on, the others find their step taken, or another outcome
// standing.
it.each<[string, readonly ModerationEvent[], ModerationCommand, readonly ModerationEvent[]]>([
  ['nothing', [], REQUEST, [{ ...requested, at: NOW }]],
  ['nothing', [], AGREE, []],
  ['nothing', [], REFUSE, []],
  ['nothing', [], COMPLETE, []],
  ['requested', [requested], REQUEST, []],
  ['requested', [requested], AGREE, [{ ...agreed, at: NOW }]],
  ['requested', [requested], REFUSE, [{ ...refusedFor, at: NOW }]],
  ['requested', [requested], COMPLETE, []],
  ['agreed', [requested, agreed], REQUEST, []],
  ['agreed', [requested, agreed], AGREE, []],
  ['agreed', [requested, agreed], REFUSE, []],
  ['agreed', [requested, agreed], COMPLETE, [{ ...completed, at: NOW }]],
  ['refused', [requested, refusedFor], REQUEST, []],
  ['refused', [requested, refusedFor], AGREE, []],
  ['refused', [requested, refusedFor], REFUSE, []],
  ['refused', [requested, refusedFor], COMPLETE, []],
  ['completed', [requested, agreed, completed], REQUEST, []],
  ['completed', [requested, agreed, completed], AGREE, []],
  ['completed', [requested, agreed, completed], REFUSE, []],
  ['completed', [requested, agreed, completed], COMPLETE, []],
])('%s: %#', (_, events, command, expected) => {
  expect(decide(fold(events), command)).toStrictEqual({ events: expected });
});

it('a moderation records its request, time and outcome', () => {
  expect(fold([])).toEqual({ status: 'absent' });
  expect(fold([requested])).toEqual({ status: 'requested', requestedAt: 1, items, reasons: [] });
  expect(fold([requested, agreed, completed])).toEqual({
    status: 'completed',
    requestedAt: 1,
    items,
    reasons: [],
  });
  expect(fold([requested, refusedFor])).toEqual({
    status: 'refused',
    requestedAt: 1,
    items,
    reasons: ['referral: why'],
  });
  expect(fold([requested, { ...requested, at: 9, items: [] }])).toEqual(fold([requested]));
  expect(fold([agreed, completed])).toEqual({ status: 'absent' });
});

it('every action sets the status of each side', () => {
  expect(
    Object.fromEntries(MODERATION_ACTIONS.map((action) => [action, sidesOf(action)])),
  ).toStrictEqual({
    APPROVED: { referred: 'APPROVED', referrer: 'APPROVED' },
    DENIED: { referred: 'DENIED', referrer: 'DENIED' },
    REFERRER_APPROVED: { referred: undefined, referrer: 'APPROVED' },
    REFERRED_APPROVED: { referred: 'APPROVED', referrer: undefined },
    REFERRER_DENIED: { referred: undefined, referrer: 'DENIED' },
    REFERRED_DENIED: { referred: 'DENIED', referrer: undefined },
  });
});
