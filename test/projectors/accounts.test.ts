import { accountsProjector } from '../../projections/accounts/projector.js';
import { accounts } from '../../projections/accounts/table.js';
import {
  accountAttributed,
  accountOpened,
  anAccount,
  erasureCompleted,
  erasureRequested,
  forgotten,
  partyOf,
  subscriptionChanged,
} from '../support/account-events.js';
import { describeProjector } from './support/describe-projector.js';
import { rowsOf } from './support/rows-of.js';

const ACME = anAccount('acme');
const SHOP = anAccount('shop');
const ANN = partyOf(SHOP, 'ann');

const account = rowsOf(accounts, {
  account_ref: ACME.accountRef,
  account_id: 'acme',
  currency: 'USD',
  date_opened: 1_000,
});

describeProjector(accountsProjector, (given) => {
  test('an account is shown from its opening, without a subscription at first', () =>
    given(ACME, accountOpened(ACME)).then({ accounts: [account()] }));

  test('an account shows its last subscription and currency, and the code of its attribution', () =>
    given(
      ACME,
      accountOpened(ACME),
      subscriptionChanged({ status: 'TRIAL' }),
      subscriptionChanged({ status: 'PAID', value: 9.5 }),
      { type: 'CurrencyChanged', at: 1_050, currency: 'EUR' },
      accountAttributed('ANN', ANN),
    ).then({
      accounts: [
        account({
          subscription: { status: 'PAID', value: 9.5 },
          currency: 'EUR',
          referral_code: 'ANN',
          referrer_person: ANN.person,
        }),
      ],
    }));

  test('an account whose key is destroyed has no row, and its events are skipped', () =>
    given(
      ACME,
      accountOpened(ACME, { accountId: forgotten('x') }),
      subscriptionChanged({ status: 'FREE' }),
      { type: 'CurrencyChanged', at: 1_050, currency: 'EUR' },
      accountAttributed('ANN', ANN),
    ).then({}));

  test('the code of a referrer who was forgotten before is not shown', () =>
    given(ACME, accountOpened(ACME), {
      type: 'AccountAttributed',
      at: 1_500,
      code: forgotten(ANN.person),
      referrer: ANN,
      programId: 'default',
    }).then({ accounts: [account()] }));

  test("a forgotten referrer's code is removed from referred accounts, at either event of the erasure", async () => {
    const attributed = given(ACME, accountOpened(ACME), accountAttributed('ANN', ANN));
    await attributed.and(SHOP, erasureRequested([ANN.person])).then({ accounts: [account()] });
    await attributed.and(SHOP, erasureCompleted([ANN.person])).then({ accounts: [account()] });
  });

  test('a deleted account has no row until it is opened again, and the tombstone does not touch the new one', () => {
    const erased = { account: ACME.accountRef };
    const deleted = given(ACME, accountOpened(ACME), erasureRequested([], erased));
    return Promise.all([
      deleted.then({}),
      deleted
        .and(ACME, accountOpened(ACME, { at: 9_050 }), erasureCompleted([], erased))
        .then({ accounts: [account({ date_opened: 9_050 })] }),
    ]);
  });

  test('an account stays when only its people are forgotten', () =>
    given(ACME, accountOpened(ACME), erasureRequested(['another'])).then({
      accounts: [account()],
    }));
});
