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
import { scenarioOf } from './support/scenario.js';

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
const given = scenarioOf({ decide, evolve, initialState });

const STAGES = {
  nothing: [],
  requested: [requested],
  agreed: [requested, agreed],
  refused: [requested, refusedFor],
  completed: [requested, agreed, completed],
};
const STEPS: Readonly<Record<string, ModerationEvent>> = {
  'nothing RequestModeration': requested,
  'requested AgreeToModeration': agreed,
  'requested RefuseModeration': refusedFor,
  'agreed CompleteModeration': completed,
};

it.each(Object.entries(STAGES))(
  'a moderation with %s accepts one command, and the others change nothing',
  (stage, events) => {
    for (const command of [REQUEST, AGREE, REFUSE, COMPLETE]) {
      const step = STEPS[`${stage} ${command.type}`];
      given(events)
        .when(command)
        .then(...(step ? [{ ...step, at: NOW }] : []));
    }
  },
);

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
