import { EventStoreDBClient, NO_STREAM } from '@eventstore/db-client';
import features from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import { credentials } from '@grpc/grpc-js';
import {
  startEventStoreDbDouble,
  type EventStoreDbDouble,
} from '../../support/eventstoredb-double/double.js';
import { seededRandom } from '../../support/eventstoredb-double/faults.js';
import { selfSignedCertificate } from '../../harness/self-signed.js';
import {
  all,
  appendEvents,
  event,
  events,
  outcomeOf,
  type BehaviourSection,
} from './behaviour-row.js';

const because = 'it takes servers of other versions, with other users, or that fail by a seed';

async function withDouble<T>(
  options: Parameters<typeof startEventStoreDbDouble>[0],
  run: (double: EventStoreDbDouble) => Promise<T>,
) {
  const double = await startEventStoreDbDouble(options);
  try {
    return await run(double);
  } finally {
    await double.stop();
  }
}

const refused = async (promise: Promise<unknown>): Promise<unknown> => {
  const outcome = await outcomeOf(promise);
  return typeof outcome === 'object' && outcome !== null && 'refused' in outcome
    ? outcome.refused
    : 'taken';
};

/** What the server says it is. */
async function versionAt(url: string): Promise<string> {
  const client = new features.ServerFeaturesClient(new URL(url).host, credentials.createInsecure());
  try {
    return await new Promise<string>((resolve, reject) => {
      client.getSupportedMethods(new shared.Empty(), (error, methods) =>
        error ? reject(error) : resolve(methods.getEventStoreServerVersion()),
      );
    });
  } finally {
    client.close();
  }
}

export const doubleSections: readonly BehaviourSection[] = [
  {
    title: 'servers of other kinds',
    rows: [
      {
        needs: 'faults',
        because,
        name: 'TLS and users: taken with the right password, access-denied with a wrong one or none; the certificate must be trusted',
        expected: {
          right: 'taken',
          wrong: { refused: 'access-denied', code: 16 },
          none: { refused: 'access-denied', code: 7 },
          untrusted: 'unavailable',
          sent: ['Basic'],
        },
        run: async (meeting) => {
          const certificate = await selfSignedCertificate();
          return withDouble({ tls: certificate, users: { ledger: 'a:b' } }, async (double) => {
            const trusting = EventStoreDBClient.connectionString(
              `${double.url}&tlsCAFile=${certificate.certFile}`,
            );
            const doubting = EventStoreDBClient.connectionString(double.url);
            const to = meeting.stream('secured');
            const appendAs = (client: EventStoreDBClient, password: string) =>
              refused(
                client.appendToStream(to, [event()], {
                  credentials: { username: 'ledger', password },
                }),
              );
            try {
              return {
                right: await appendAs(trusting, 'a:b'),
                wrong: await outcomeOf(
                  trusting.appendToStream(to, [event()], {
                    credentials: { username: 'ledger', password: 'a' },
                  }),
                ),
                none: await outcomeOf(all(trusting.readStream(to))),
                untrusted: await appendAs(doubting, 'a:b'),
                sent: [
                  ...new Set(
                    double.requests.flatMap(
                      ({ headers }) => headers.authorization?.split(' ')[0] ?? [],
                    ),
                  ),
                ],
              };
            } finally {
              await trusting.dispose();
              await doubting.dispose();
              await certificate.remove();
            }
          });
        },
      },
      {
        needs: 'faults',
        because,
        name: 'what a server says of itself: its version, or before 21.10 that it does not know the question',
        expected: ['23.10.8', '21.10.0', { refused: 'without a type', code: 12 }],
        run: async () => {
          const answers = [];
          for (const version of ['23.10.8', '21.10.0', '20.10.2.0']) {
            answers.push(await withDouble({ version }, ({ url }) => outcomeOf(versionAt(url))));
          }
          return answers;
        },
      },
      {
        needs: 'faults',
        because,
        name: 'a node that is not the leader any more says so to those who ask for it; a connection that breaks first stores nothing',
        expected: { notLeader: 'not-leader', anyNode: 'taken', cut: 'unavailable', stored: 1 },
        run: async (meeting, double) => {
          const to = meeting.stream('deposed');
          double.faults.next('not-leader');
          const anyNode = await refused(
            appendEvents(meeting.client, { to, events: [event()], expected: NO_STREAM }),
          );
          const notLeader = await refused(
            appendEvents(meeting.client, { to, events: [event()], requiresLeader: true }),
          );
          double.faults.next('connection-cut');
          const cut = await refused(appendEvents(meeting.client, { to, events: [event()] }));
          return { notLeader, anyNode, cut, stored: double.store.eventsOf(to).length };
        },
      },
      {
        needs: 'faults',
        because,
        name: 'faults with a probability come by the seed, the same again for the same seed; every stored event is there once',
        expected: { same: true, some: true, stored: 40 },
        run: async (meeting) => {
          const play = (seed: number) =>
            withDouble({ random: seededRandom(seed) }, async (double) => {
              const client = EventStoreDBClient.connectionString(double.url);
              double.faults.set('answer-lost', { probability: 0.3, methods: ['append'] });
              const outcomes = [];
              for (const one of events(40)) {
                outcomes.push(
                  await refused(
                    appendEvents(client, { to: meeting.stream('seeded'), events: [one] }),
                  ),
                );
              }
              await client.dispose();
              return {
                outcomes: outcomes.join(),
                stored: double.store.eventsOf(meeting.stream('seeded')).length,
              };
            });
          const [first, second] = [await play(7), await play(7)];
          return {
            same: first.outcomes === second.outcomes,
            some: first.outcomes.includes('unavailable') && first.outcomes.includes('taken'),
            stored: first.stored,
          };
        },
      },
    ],
  },
];
