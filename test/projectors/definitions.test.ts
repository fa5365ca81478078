import { accountProjectors } from '../../projections/account-projectors.js';
import { definitionOf } from '../../src/projecting/generations/generations.js';

/**
 * A definition that changes makes every installation build its read model anew, next to that of the
 * release before. Change a line here only together with the table's columns, key or indexes.
 */
test('the definitions of the read models are those of the last release', () => {
  expect(
    Object.fromEntries(
      accountProjectors.map((projector) => [projector.name, definitionOf(projector)]),
    ),
  ).toEqual({
    accounts: '01e807576522e3886fea5dfb769c4329132bd3349ec791b9f92beb8d9b709a19',
    users: '431ceaa87bb0d5be3f2f3cd0274f96c807cfda9ea51e779b8cdbbd3cb6709577',
    'referral-codes': '56c64aebf0ccfdce4ad36a736fa4e46fe581352756829e4577935180b6f1fee1',
    referrals: 'e436b0426351837c165f136b2dd3dd1b56322f01b48f7a0b3224113eff77840e',
    rewards: 'a76b1a4ec5b5d19646f7a4cff54defe88de8c30e1c054f22804ca1d28fc303fc',
    'reward-balances': 'e78d37b285aa46e1474ba25fdb47334f42c613a862eed51e4a785e0f7a0b7adc',
    exports: 'd06b87d6c9da808b9a83cc6858093c66e1598bbdcd4a083ec823084bbbddd21f',
    activity: '198b5c249a66446cdba7c0f95e9c130e603312af9aac8d687760a930026fe143',
    'daily-figures': '111414c86493b6022754106c4fc040a5c0491119bb36ac219c7dc918b5c68ff1',
  });
});
