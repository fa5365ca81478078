import { accountProjectors } from '../../projections/account-projectors.js';
import { definitionOf } from '../../src/projecting/generations/generations.js';

/**
 * A definition that changes makes every installation rebuild its read model at the next start, with
 * 503 until it is complete. Change a line here only together with the table's columns, key or
 * indexes.
 */
test('the definitions of the read models are those of the last release', () => {
  expect(
    Object.fromEntries(
      accountProjectors.map((projector) => [projector.name, definitionOf(projector)]),
    ),
  ).toEqual({
    accounts: 'f57eb50ba9a892e6f88c909d589f437620d6047ab22e8d3f52341099e33d6179',
    users: '1dd6a79c6080ee0a14fbc47becac8c9d32b761e8ac23e07e09da39e64ca867ca',
    'referral-codes': '56c64aebf0ccfdce4ad36a736fa4e46fe581352756829e4577935180b6f1fee1',
    referrals: '89d2f9c171e4dd101aae4bb1ba65d4cac117e13eff0bb62bb531a2a85e6f507a',
    rewards: '5051a4079ac0ab14d40717be648594233995911c93b5e712a494a7262d893a4d',
    'reward-balances': '203bcb7e7f62f4c3dbb090931fe6a499d375b21d9fae3650f08eb9674c3f577e',
  });
});
