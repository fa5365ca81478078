import type { AccountEvent } from '../../../src/domain/account/account.events.js';
import type { Position, RecordedEvent } from '../../../src/event-log/event-log.js';
import { accountRefOf, scopeOfStream } from '../../../src/privacy/keyed-names.js';
import { announcedByEach, type WebhookType } from '../../../src/webhooks/payloads/announced.js';
import {
  Payloads,
  type Announcement,
  type PayloadData,
} from '../../../src/webhooks/payloads/payloads.js';
import type { TestProcess } from '../../command-handling/support/processes.js';

type Read = Pick<TestProcess, 'log' | 'codec' | 'keys' | 'names'>;

export const payloadsOf = ({ log, codec, keys, names }: Read): Payloads =>
  new Payloads({
    log,
    codec,
    keys,
    names,
    // As `expectedUser` has it.
    publicUrl: () => 'https://share.example',
  });

/** A payload with its type; `data` is null where nothing is sent. */
export interface AnnouncedPayload {
  readonly type: WebhookType;
  readonly kind: PayloadData['kind'];
  readonly data: Readonly<Record<string, unknown>> | null;
}

/** Meets the events of a log in pages, as a follower does, and makes their payloads immediately. */
export class Listener {
  private readonly payloads: Payloads;
  private after: Position | undefined;
  private readonly heard: { readonly of: Announcement; readonly payload: AnnouncedPayload }[] = [];

  constructor(private readonly process: Read) {
    this.payloads = payloadsOf(process);
  }

  /** What was announced since the last call; a filter by type, if any. */
  async news(...types: readonly WebhookType[]): Promise<readonly AnnouncedPayload[]> {
    const news: AnnouncedPayload[] = [];
    for (;;) {
      const page = await this.process.log.readAll(this.after, 10_000);
      const last = page.at(-1);
      if (last === undefined) break;
      this.after = last.position;
      for (const of of await announcements(this.process, page)) {
        const payload = await payloadBy(this.payloads, of);
        this.heard.push({ of, payload });
        news.push(payload);
      }
    }
    return types.length === 0 ? news : news.filter(({ type }) => types.includes(type));
  }

  async data(...types: readonly WebhookType[]): Promise<readonly AnnouncedPayload['data'][]> {
    return (await this.news(...types)).map(({ data }) => data);
  }

  /** Leaves out what was announced until now. */
  async skip(): Promise<void> {
    this.after = await this.process.log.head();
  }

  /** All announcements so far, with what was made of them at their time, as sent. */
  get sent(): readonly string[] {
    return this.heard.map(({ payload }) => JSON.stringify(payload));
  }

  /** The same announcements, made by others now, newest first and side by side. */
  async again(payloads = payloadsOf(this.process)): Promise<readonly string[]> {
    const all = await Promise.all(this.heard.toReversed().map(({ of }) => payloadBy(payloads, of)));
    return all.toReversed().map((payload) => JSON.stringify(payload));
  }
}

export async function payloadBy(payloads: Payloads, of: Announcement): Promise<AnnouncedPayload> {
  const made = await payloads.data(of);
  const data = made.kind === 'made' ? made.data : null;
  return { type: of.announced.type, kind: made.kind, data };
}

/** What the events announce, in order. */
export async function announcements(
  { codec }: Pick<TestProcess, 'codec'>,
  events: readonly RecordedEvent[],
): Promise<readonly Announcement[]> {
  const ofAccounts = events.filter(({ stream }) => accountRefOf(stream) !== undefined);
  const decoded = await codec.decodeAll(ofAccounts);
  const each = announcedByEach(
    decoded.map(({ event, envelope, recorded }) => ({
      event: event as AccountEvent,
      commandId: envelope.commandId,
      stream: recorded.stream,
    })),
  );
  return decoded.flatMap(({ recorded }, index) =>
    (each[index] ?? []).flatMap((announced): Announcement[] => {
      const { stream, revision, id } = recorded;
      const scope = scopeOfStream(stream);
      return scope ? [{ ...scope, stream, revision, eventId: id, announced }] : [];
    }),
  );
}
