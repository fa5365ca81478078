import { NO_STREAM } from '@eventstore/db-client';
import { eventually } from '../../support/embedded.js';
import {
  all,
  appendEvents,
  event,
  newMeeting,
  outcomeOf,
  type BehaviourSection,
  type Meeting,
} from './behaviour-row.js';

const because = 'it takes three nodes that can be killed';

async function meeting<T>(url: string, run: (meeting: Meeting) => Promise<T>): Promise<T> {
  const met = newMeeting(url);
  try {
    return await run(met);
  } finally {
    await met.dispose();
  }
}

export const clusterSections: readonly BehaviourSection[] = [
  {
    title: 'three nodes',
    rows: [
      {
        needs: 'cluster',
        because,
        name: 'an append at a follower is passed on; one that requires the leader is told where it is, and the client goes there',
        expected: { passedOn: true, refused: true, next: true, atTheLeader: 1 },
        run: async (cluster) => {
          const [follower] = cluster.followers;
          return meeting(follower!.url, async ({ client, stream }) => {
            const to = stream('follower');
            const passedOn = await appendEvents(client, {
              to,
              events: [event()],
              expected: NO_STREAM,
            });
            const refused = await outcomeOf(
              appendEvents(client, { to, events: [event()], requiresLeader: true }),
            );
            const next = await appendEvents(client, {
              to,
              events: [event()],
              expected: 0n,
              requiresLeader: true,
            });
            const leader = cluster.leader!.endpoint;
            return {
              passedOn: passedOn.success,
              refused:
                'refused' in refused &&
                refused.refused === 'not-leader' &&
                JSON.stringify(refused.leader) === JSON.stringify(leader),
              next: next.success,
              atTheLeader: cluster.leader!.calls.append,
            };
          });
        },
      },
      {
        needs: 'cluster',
        because,
        name: 'a follower may lag behind what the leader has acknowledged; a read that requires the leader does not see it',
        expected: { stale: 'stream-not-found', atTheLeader: ['A'], caughtUp: ['A'] },
        run: async (cluster) => {
          const [follower] = cluster.followers;
          const to = 'lagging';
          cluster.lag(follower!);
          const atTheLeader = await meeting(cluster.url, async ({ client }) => {
            await appendEvents(client, { to, events: [event('A')], requiresLeader: true });
            return (await all(client.readStream(to, { requiresLeader: true }))).map(
              ({ event: found }) => found!.type,
            );
          });
          return meeting(follower!.url, async ({ client }) => {
            const stale = (await outcomeOf(all(client.readStream(to)))) as { refused?: string };
            cluster.catchUp(follower!);
            return {
              stale: stale.refused,
              atTheLeader,
              caughtUp: (await all(client.readStream(to))).map(({ event: found }) => found!.type),
            };
          });
        },
      },
      {
        needs: 'cluster',
        because,
        name: 'the leader is killed: unavailable until another is elected, then the same client goes on, nothing lost, nothing twice',
        expected: {
          between: ['unavailable'],
          types: ['A', 'B'],
          states: ['follower', 'leader', 'shutdown'],
        },
        run: async (cluster) =>
          meeting(cluster.url, async ({ client, stream }) => {
            const to = stream('killed-leader');
            const second = event('B');
            await appendEvents(client, {
              to,
              events: [event('A')],
              expected: NO_STREAM,
              requiresLeader: true,
            });
            await cluster.killLeader();
            const append = () =>
              appendEvents(client, {
                to,
                events: [second],
                expected: 0n,
                requiresLeader: true,
              });
            const first = (await outcomeOf(append())) as { refused?: string };
            cluster.elect();
            await eventually(async () => (await append()).success);
            const types = (await all(client.readStream(to))).map(({ event: found }) => found!.type);
            return {
              between: [first.refused],
              types,
              states: cluster.members.map(({ state }) => state).sort(),
            };
          }),
      },
      {
        needs: 'cluster',
        because,
        name: 'the leader hangs: what followers pass on waits, the gossip still names it; when it goes on, all of it is stored',
        expected: { waited: 'deadline-exceeded', named: 'leader', stored: ['Unanswered', 'Late'] },
        run: async (cluster) =>
          meeting(cluster.followers[0]!.url, async ({ client, stream }) => {
            const to = stream('hung-leader');
            const hung = cluster.hangLeader();
            const waited = (await outcomeOf(
              appendEvents(client, { to, events: [event('Unanswered')], deadline: 300 }),
            )) as {
              refused?: string;
            };
            const named = cluster.members.find(
              ({ endpoint }) => endpoint.port === hung.port,
            )?.state;
            const late = appendEvents(client, { to, events: [event('Late')] });
            cluster.resume(hung);
            await late;
            return {
              waited: waited.refused,
              named,
              stored: cluster.store.eventsOf(to).map(({ type }) => type),
            };
          }),
      },
      {
        needs: 'cluster',
        because,
        name: 'two of three are gone: appends come to nothing in time, a direct read works; with one back, what waited is stored',
        expected: { append: 'deadline-exceeded', read: ['A'], later: ['A', 'B', 'C'] },
        run: async (cluster) => {
          const leader = cluster.leader!;
          return meeting(leader.url, async ({ client, stream }) => {
            const to = stream('minority');
            await appendEvents(client, { to, events: [event('A')] });
            for (const follower of cluster.followers) await follower.kill();
            const append = (await outcomeOf(
              appendEvents(client, { to, events: [event('B')], deadline: 300 }),
            )) as {
              refused?: string;
            };
            const read = (await all(client.readStream(to))).map(({ event: found }) => found!.type);
            await cluster.restart(cluster.followers[0]!);
            await appendEvents(client, { to, events: [event('C')] });
            return {
              append: append.refused,
              read,
              later: cluster.store.eventsOf(to).map(({ type }) => type),
            };
          });
        },
      },
      {
        needs: 'cluster',
        because,
        name: 'no node that leads in the gossip, none that follows: discovery fails with an error that has no type',
        expected: { refused: 'without a type' },
        run: async (cluster) => {
          cluster.elect(undefined);
          await cluster.killLeader();
          return meeting(
            `${cluster.url}&maxDiscoverAttempts=2&discoveryInterval=10`,
            ({ client, stream }) => outcomeOf(all(client.readStream(stream('nobody')))),
          );
        },
      },
    ],
  },
];
