import type { AccountEvent } from '../../../src/domain/account/account.events.js';
import { accountRefOf, scopeOfStream } from '../../../src/privacy/keyed-names.js';
import { announcedByEach, type WebhookType } from '../../../src/webhooks/payloads/announced.js';
import {
  Payloads,
  type Announcement,
  type PayloadData,
} from '../../../src/webhooks/payloads/payloads.js';
import type { TestProcess } from '../../command-handling/support/processes.js';

/** The external address of the service, as `expectedUser` has it. */
const PUBLIC_URL = 'https://share.example';

export const payloadsOf = ({ log, codec, keys, names }: TestProcess): Payloads =>
  new Payloads({ log, codec, keys, names, publicUrl: () => PUBLIC_URL });

/** Every announcement of the log, in order, as a follower meets them. */
export async function announcements({ log, codec }: TestProcess): Promise<Announcement[]> {
  const recorded = await log.readAll(undefined, 100_000);
  const ofAccounts = recorded.filter(({ stream }) => accountRefOf(stream) !== undefined);
  const events = (await codec.decodeAll(ofAccounts)).map(({ event, envelope, recorded }) => ({
    event: event as AccountEvent,
    commandId: envelope.commandId,
    stream: recorded.stream,
    recorded,
  }));
  return announcedByEach(events).flatMap((all, index) =>
    all.flatMap((announced): Announcement[] => {
      const { stream, revision, position, id } = events[index]?.recorded ?? ofAccounts[0]!;
      const scope = scopeOfStream(stream);
      return scope ? [{ ...scope, stream, revision, position, eventId: id, announced }] : [];
    }),
  );
}

export interface Told {
  readonly type: WebhookType;
  readonly payload: PayloadData;
}

/** The payloads of these announcements. */
export async function told(
  payloads: Payloads,
  all: readonly Announcement[],
): Promise<readonly Told[]> {
  const made: Told[] = [];
  for (const one of all) made.push({ type: one.announced.type, payload: await payloads.data(one) });
  return made;
}
