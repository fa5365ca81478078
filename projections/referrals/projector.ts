import { rewardedSide } from '../../src/domain/account/account.events.js';
import { defineProjector } from '../../src/projecting/define-projector.js';
import type { RowKey, Rows } from '../../src/projecting/projector.js';
import { countKeys, recount, recountKeys } from './counting.js';
import { startedReferral } from './started-referral.js';
import { decided } from './decision.js';
import {
  referralCounts,
  referralDecisions,
  referralRewards,
  referrals,
  type ReferralRow,
  type RewardedSide,
} from './table.js';

/** Referrals with side statuses and rewards. A forgotten side keeps its status, without ids. */
export const referralsProjector = defineProjector({
  name: 'referrals',
  tables: [referrals, referralRewards, referralDecisions, referralCounts],
  on: {
    ReferralStarted: {
      keys: (started) => [...referralRow(started), ...countKeys(startedReferral(started))],
      furtherKeys: countersOfRow,
      apply(started, rows) {
        // A referral starts once; a second start would be counted twice.
        if (referrals.get(rows, started.event.referralId)) return;
        const row = startedReferral(started);
        referrals.put(rows, row);
        recount(rows, undefined, row);
      },
    },
    ReferralConverted: {
      keys: referralRow,
      furtherKeys: countersOfRow,
      apply({ event }, rows) {
        change(rows, event, {
          referred_status: event.referredStatus,
          referrer_status: event.referrerStatus,
          date_paid: event.at,
        });
      },
    },
    ReferralEnded: {
      keys: referralRow,
      apply: ({ event }, rows) => change(rows, event, { date_ended: event.at }),
    },
    ReferralFlagged: {
      keys: referralRow,
      /** A referral that has not started yet receives the signal at its start. */
      apply({ event }, rows) {
        const signals = referrals.get(rows, event.referralId)?.fraud_signals;
        if (signals) change(rows, event, { fraud_signals: { ...signals, ...event.fraudSignals } });
      },
    },
    ReferralModerated: {
      keys: (moderated) => [
        ...referralRow(moderated),
        referralDecisions.key(moderated.event.referralId),
      ],
      furtherKeys: countersOfRow,
      apply(moderated, rows) {
        const { event } = moderated;
        const before = referrals.get(rows, event.referralId);
        if (before) referralDecisions.put(rows, decided(moderated, before));
        change(rows, event, {
          referred_status: event.referredStatus,
          referrer_status: event.referrerStatus,
          date_moderated: event.at,
        });
      },
    },
    RewardGranted: {
      keys({ event }) {
        const side = rewardedSide(event);
        const { referralId } = event;
        return referralId === null || side === undefined
          ? []
          : [referralRewards.key(referralId, side)];
      },
      /** A forgotten owner's reward is not shown, not even in the other side's referral. */
      apply({ event, tenant, mode }, rows) {
        const side = rewardedSide(event);
        const { at, referralId, rewardId, owner } = event;
        if (referralId === null || side === undefined || !owner.value?.userId) return;
        referralRewards.put(rows, {
          referral_id: referralId,
          side,
          tenant,
          mode,
          reward_id: rewardId,
          date_granted: at,
        });
      },
    },
    ImportedRewardLinked: {
      keys: ({ event: { referralId, side } }) => [referralRewards.key(referralId, side)],
      apply({ event: { at, referralId, side, rewardId }, tenant, mode }, rows) {
        const of = { referral_id: referralId, side, tenant, mode };
        referralRewards.put(rows, { ...of, reward_id: rewardId, date_granted: at });
      },
    },
  },

  forgetting: {
    // The accounts' indexes suffice. An account is referred once, so that side needs no order.
    lookups: ({ accountRef, persons }) => [
      referrals.lookup({ referred_account_ref: [accountRef], referred_person: [...persons] }, [
        { column: 'referral_id' },
      ]),
      referrals.lookup({ referrer_account_ref: [accountRef], referrer_person: [...persons] }, [
        { column: 'date_started', descending: true },
        { column: 'referral_id' },
      ]),
    ],

    keys: ({ persons }, rows) =>
      referrals.found(rows).flatMap((row) => {
        const { after, sides } = without(row, persons);
        return [
          ...recountKeys(row, after),
          ...sides.map((side) => referralRewards.key(row.referral_id, side)),
          referralDecisions.key(row.referral_id),
        ];
      }),

    clean({ persons }, rows) {
      for (const row of referrals.found(rows)) erase(rows, row, persons);
    },
  },
});

type AboutReferral = { readonly event: { readonly referralId: string } };

function referralRow({ event }: AboutReferral): RowKey[] {
  return [referrals.key(event.referralId)];
}

/** Only the referral's row has the ids of its counters: events after an erasure no longer do. */
function countersOfRow({ event }: AboutReferral, rows: Pick<Rows, 'get'>): RowKey[] {
  const row = referrals.get(rows, event.referralId);
  return row ? countKeys(row) : [];
}

function change(
  rows: Rows,
  { referralId, at }: { readonly referralId: string; readonly at: number },
  changes: Partial<ReferralRow>,
): void {
  const before = referrals.get(rows, referralId);
  if (!before) return;
  const after: ReferralRow = { ...before, ...changes, date_changed: at };
  referrals.put(rows, after);
  recount(rows, before, after);
}

/** A forgotten side keeps its status, without ids, code and reward. */
function without(
  before: ReferralRow,
  persons: ReadonlySet<string>,
): { readonly after: ReferralRow; readonly sides: readonly RewardedSide[] } {
  const referred = persons.has(before.referred_person);
  const referrer = persons.has(before.referrer_person);
  const after: ReferralRow = {
    ...before,
    ...(referred ? { referred_account_id: null, referred_user_id: null } : {}),
    ...(referrer
      ? {
          referrer_account_id: null,
          referrer_user_id: null,
          referral_code_used: null,
          share_link_used: null,
        }
      : {}),
  };
  return {
    after,
    sides: [
      ...(referred ? (['referred'] as const) : []),
      ...(referrer ? (['referrer'] as const) : []),
    ],
  };
}

function erase(rows: Rows, before: ReferralRow, persons: ReadonlySet<string>): void {
  const { after, sides } = without(before, persons);
  referrals.put(rows, after);
  recount(rows, before, after);
  for (const side of sides) referralRewards.delete(rows, before.referral_id, side);
  const decision = referralDecisions.get(rows, before.referral_id);
  if (decision && sides.includes('referred'))
    referralDecisions.put(rows, { ...decision, reason: null });
}
