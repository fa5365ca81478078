import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { personal } from '../../src/domain/personal.js';
import {
  accountOpened,
  credit,
  creditRedeemed,
  partyOf,
  rewardGranted,
  userIdentified,
} from '../support/account-events.js';
import { adjust } from './support/commands.js';
import { ACME, BOB, given, NOW } from './support/account-scenario.js';

const here = [accountOpened(ACME), userIdentified(ACME, 'bob'), userIdentified(ACME, 'cat')];
const { approvedBy, by } = adjust(1);
const adjustment = { reason: personal(BOB.person, 'charged twice'), approvedBy, by };

const adjusted = (event: AccountEvent): AccountEvent =>
  event.type === 'CreditRedeemed' ? { ...event, adjustment } : event;

it('an adjustment adds credit as a manual reward with its reason', () => {
  given(here)
    .when(adjust(500))
    .then(rewardGranted('adjusted', BOB, credit(500), { at: NOW, adjustment }));
});

it('an adjustment redeems credit of that user alone, soonest expiry first', () => {
  const late = rewardGranted('late', BOB, credit(100));
  const soon = rewardGranted('soon', BOB, credit(100), { dateExpires: NOW + 1 });
  const others = rewardGranted('others', partyOf(ACME, 'cat'), credit(1_000));
  given(here, late, soon, others)
    .when(adjust(-150))
    .then(
      adjusted(creditRedeemed(soon, 'adjusted-0', 100, NOW)),
      adjusted(creditRedeemed(late, 'adjusted-1', 50, NOW)),
    );
  given(here, late, soon, others)
    .when(adjust(-201))
    .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 201 exceeds the available credit 200 CENTS');
});

it('an adjustment is refused when another person has taken the id of the user since it was proposed', () => {
  given(here)
    .when(adjust(500, { person: BOB.person }))
    .then(rewardGranted('adjusted', BOB, credit(500), { at: NOW, adjustment }));
  given(here)
    .when(adjust(500, { person: 'another person' }))
    .refused('USER_NOT_FOUND');
});

it('an adjustment is in the currency of the unit', () => {
  const euros = (amount: number) => credit(amount, 'CENTS', 'EUR');
  given(here, rewardGranted('euros', BOB, euros(5)))
    .when(adjust(500))
    .then(rewardGranted('adjusted', BOB, euros(500), { at: NOW, adjustment }));
});

it('an adjustment is refused for an unknown user, for zero and for more than the ledger can hold', () => {
  given().when(adjust(1)).refused('ACCOUNT_NOT_FOUND');
  given(here)
    .when(adjust(1, { userId: 'missing' }))
    .refused('USER_NOT_FOUND');
  for (const amount of [0, 0.5, Number.NaN])
    given(here)
      .when(adjust(amount))
      .refused(
        'REDEMPTION_NOT_POSSIBLE',
        `The amount ${amount} must be a whole number other than zero`,
      );
  given(here, rewardGranted('all', BOB, credit(Number.MAX_SAFE_INTEGER)))
    .when(adjust(1))
    .refused(
      'AMOUNT_TOO_LARGE',
      'All CENTS ever assigned to the account would be more than 9,007,199,254,740,991: assign less',
    );
});

it('a grant of support that would have expired by its approval is refused', () => {
  const grant = { name: 'Sorry', dateExpires: NOW };
  const line = `dateExpires must lie in the future, after ${new Date(NOW).toISOString()}`;
  given(here).when(adjust(500, { grant })).refused('REWARD_DATES_INVALID', line);
});
