import { activityProjector } from '../../projections/activity/projector.js';
import { personal } from '../../src/domain/personal.js';
import { anAccount, erasureCompleted, erasureRequested } from '../support/account-events.js';
import { describeProjector } from './support/describe-projector.js';

const ACME = anAccount('acme');
const OPERATION = {
  type: 'OperationRecorded',
  at: 5,
  operation: 'ledger close',
  by: personal('sam-in-demo', 'Sam'),
  parameters: {},
  resultDigest: '0',
} as const;
const ROW = {
  event_id: 'event-0',
  tenant: 'demo',
  mode: 'live',
  at: 5,
  operation: 'ledger close',
  channel: 'cli',
  staff: 'sam-in-demo',
  name: 'Sam',
  parameters: {},
  reason: null,
  about: null,
};

describeProjector(activityProjector, (given) => {
  test('an operation has a row, which keeps no name that was erased', async () => {
    const recorded = given(ACME, OPERATION);
    await recorded.then({ activity: [ROW] });
    for (const erasure of [erasureRequested, erasureCompleted])
      await recorded
        .and(ACME, erasure(['sam-in-demo']))
        .then({ activity: [{ ...ROW, name: null }] });
  });

  test('a reason is forgotten with the person that it is about', async () => {
    const reason = personal('ann', 'called twice');
    const parameters = { user: 'hash' };
    const row = { ...ROW, parameters, about: 'ann', reason: 'called twice' };
    const recorded = given(ACME, { ...OPERATION, parameters, reason });
    await recorded.then({ activity: [row] });
    await recorded
      .and(ACME, erasureRequested(['ann']))
      .then({ activity: [{ ...row, reason: null }] });
  });
});
