import { decide } from '../../src/domain/share-link/share-link.decider.js';

test('a sum of visits is one event', () => {
  const media = { shareMedium: 'EMAIL', engagementMedium: 'MOBILE' };
  const counted = {
    person: 'ann',
    programId: 'default',
    since: 1,
    visits: [{ ...media, count: 3 }],
  };
  expect(decide({ ...counted, now: 2 })).toStrictEqual({
    events: [{ type: 'ShareLinkVisitsCounted', at: 2, ...counted }],
  });
});
