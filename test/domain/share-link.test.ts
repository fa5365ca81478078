import {
  decide,
  evolve,
  initialState,
  type ShareLinkEvent,
} from '../../src/domain/share-link/share-link.decider.js';

const link = { person: 'ann', programId: 'default' };
const media = { shareMedium: 'EMAIL', engagementMedium: 'MOBILE' };

test('the visits of a day are those of sums and those of earlier releases, one each', () => {
  const events: readonly ShareLinkEvent[] = [
    { type: 'ShareLinkFollowed', at: 1, ...link, ...media },
    {
      type: 'ShareLinkVisitsCounted',
      at: 2,
      ...link,
      since: 1,
      visits: [
        { ...media, count: 3 },
        { ...media, shareMedium: 'SMS', count: 4 },
      ],
    },
    { type: 'ShareLinkFollowed', at: 3, ...link, ...media },
  ];
  expect(events.reduce(evolve, initialState)).toStrictEqual({ followed: 9 });
});

test('a sum is one event', () => {
  const counted = { ...link, since: 1, visits: [{ ...media, count: 3 }] };
  expect(decide({ ...counted, now: 2 })).toStrictEqual({
    events: [{ type: 'ShareLinkVisitsCounted', at: 2, ...counted }],
  });
});
