import type { ReferralListRow } from '../../../projections/referrals/list-queries.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import type { ListAnswer } from '../../projecting/following/row-lists.js';
import type { CustomerReads } from '../customers/lists/customer-lists.js';
import type { ShownPerson } from './account-history.js';
import type { WhyNot } from './withheld-rewards.js';

const REFERRALS_SHOWN_MAX = 50;
const NOT_SHOWN = { name: null, userId: null, accountId: null };

/** The referrals that people of an account made, the newest first, with those not rewarded. */
export interface ReferralsMade extends ListAnswer<ReferralListRow> {
  /** Why the account's people got no reward for some of these. */
  readonly why: readonly WhyNot[];
}

/** @param people of the account, as its reader sees them. */
export async function referralsMade(
  reads: CustomerReads,
  { scope, accountRef }: { readonly scope: Scope; readonly accountRef: AccountRef },
  people: readonly ShownPerson[],
  showsPersonal: boolean,
): Promise<ReferralsMade> {
  const { rows, ...answer } = await reads.referrals.page(scope, {
    filters: { referrerAccountRef: accountRef },
    sort: 'started',
    descending: true,
    limit: REFERRALS_SHOWN_MAX,
    offset: 0,
  });
  return {
    ...answer,
    rows: showsPersonal ? rows : rows.map(withoutPeople),
    why: rows.flatMap((row) => whyNotRewarded(row, people, showsPersonal)),
  };
}

const withoutPeople = (row: ReferralListRow): ReferralListRow => ({
  ...row,
  referred: NOT_SHOWN,
  referrer: NOT_SHOWN,
  code: null,
});

/** A referral whose referrer moderation keeps from a reward; approved ones have recorded facts. */
function whyNotRewarded(
  row: ReferralListRow,
  people: readonly ShownPerson[],
  showsPersonal: boolean,
): readonly WhyNot[] {
  const { referrerModeration, referrerRewardId, referralId, moderated } = row;
  if (referrerModeration === 'Approved' || referrerRewardId !== null) return [];
  const referrer = (showsPersonal ? row.referrer.name : null) ?? 'The referrer';
  const referred = (showsPersonal ? row.referred.name : null) ?? 'a friend';
  return [
    {
      at: new Date(row.converted ?? moderated).toISOString(),
      referralId,
      sentence:
        referrerModeration === 'Waiting'
          ? `${referrer} has no reward for referring ${referred} yet: the referral waits for moderation.`
          : `${referrer} did not get a reward for referring ${referred}: ${becauseDenied(row, people)}.`,
    },
  ];
}

/** A referrer who is blocked at the conversion is denied then. */
function becauseDenied(
  { referrer, converted }: ReferralListRow,
  people: readonly ShownPerson[],
): string {
  const since = people.find(({ userId }) => userId === referrer.userId)?.blockedSince;
  const wasBlocked = since != null && converted !== null && Date.parse(since) <= converted;
  return wasBlocked ? 'the referrer was blocked' : 'moderation denied the referral';
}
