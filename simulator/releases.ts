import type { EventCodec } from '../src/event-log/codec.js';
import type { RecordedEvent } from '../src/event-log/event-log.js';
import { unreadableReason } from '../src/event-log/known-events.js';
import type { PolicyRunnerOptions } from '../src/reacting/policy-runner.js';
import type { AccountCommand } from '../src/domain/account/account.decider.js';
import type { SubjectKeys } from '../src/privacy/subject-keys.js';
import { KnownEventsCodec } from './known-events.js';
import type { Wish } from './known-world.js';

type Unread = Pick<RecordedEvent, 'type' | 'data'>;

/** What the newer of two releases records, and the older one cannot read. */
interface Addition {
  readonly types: ReadonlySet<string>;
  /** Of these types: events of an older version are known to both releases. */
  readonly isNew: (event: Unread) => boolean;
  /** The requests that record it: clients send them to the newer release alone. */
  readonly requests: ReadonlySet<AccountCommand['type']>;
}

const always = (): boolean => true;

const ADDITIONS = {
  block: {
    types: new Set(['UserBlocked', 'UserUnblocked']),
    isNew: always,
    requests: new Set(['BlockUser', 'UnblockUser'] as const),
  },
  events: {
    types: new Set(['UserEventReceived']),
    isNew: always,
    requests: new Set(['ReceiveUserEvents'] as const),
  },
  reward: {
    types: new Set(['RewardGranted']),
    isNew: ({ data }) => data.includes('"source":"MANUAL"'),
    requests: new Set(['CreateReward', 'AdjustCredit'] as const),
  },
} as const satisfies Readonly<Record<string, Addition>>;
/** By the kind of request that records it. */
export type AdditionName = keyof typeof ADDITIONS;

/** Whether a release without the addition can read the event. */
export const isUnreadable = (name: AdditionName, event: Unread): boolean => {
  const { types, isNew }: Addition = ADDITIONS[name];
  return types.has(event.type) && isNew(event);
};

/** Whether clients send this to a release without the addition. */
export const isKnownWish = (name: AdditionName, wish: Wish): boolean => {
  const { requests }: Addition = ADDITIONS[name];
  return wish.kind === 'moderation' || !requests.has(wish.request.type);
};

const because = ({ type }: Unread): string => `the type ${type} is not known to this release`;

export const codecOf = (keys: SubjectKeys, without: AdditionName | undefined): EventCodec =>
  without === undefined ? new KnownEventsCodec(keys) : new OlderCodec(keys, without);

/** Of the older release: its events of the addition are unreadable, as unknown types are. */
class OlderCodec extends KnownEventsCodec {
  constructor(
    keys: SubjectKeys,
    private readonly without: AdditionName,
  ) {
    super(keys);
  }

  override async decode(
    recorded: readonly RecordedEvent[],
  ): ReturnType<InstanceType<typeof EventCodec>['decode']> {
    const decoded = await super.decode(recorded);
    return decoded.map((result) =>
      isUnreadable(this.without, result.recorded)
        ? { unreadable: because(result.recorded), recorded: result.recorded }
        : result,
    );
  }
}

/** What the policies of the older release know of events. */
export const olderReading = (
  without: AdditionName,
): Pick<PolicyRunnerOptions, 'unreadableReason' | 'isKnown'> => {
  const { types }: Addition = ADDITIONS[without];
  return {
    unreadableReason: (event) =>
      isUnreadable(without, event) ? because(event) : unreadableReason(event),
    isKnown: (type) => !types.has(type),
  };
};
