import type { Scope } from '../src/domain/scope.js';
import { whenBroken } from './broken-connections.js';
import { accountRefIn, send, type Ending } from './clients.js';
import type { Faults } from './faults.js';
import type { SeededRandom } from './seeded-random.js';
import type { SimulatedService } from './service.js';
import type { Owner, VirtualWorld } from './virtual-world.js';
import type { KnownWorld, Wish } from './known-world.js';
import { isKnownWish, isUnreadable } from './releases.js';
import { nextWish, type WishWeights } from './wishes.js';

/** A client gives up then. Whatever lives has answered long before. */
const ANSWER_WITHIN_MS = 30_000;
const RECENT = 200;
const SAME_ACCOUNT_TRIES = 8;

/** One try of a request. */
export interface Try {
  readonly callId: string;
  readonly service: SimulatedService;
  /** Undefined: still open. */
  ending: Ending | undefined;
}

/** A request of a client, and its tries in the order in which they were sent. */
export interface Sent {
  readonly wish: Wish;
  readonly key: string | undefined;
  readonly body: string;
  /** Epoch milliseconds of the world. */
  readonly sentAt: number;
  readonly tries: Try[];
}

export interface RequestsParts {
  readonly world: VirtualWorld;
  readonly random: SeededRandom;
  readonly scope: Scope;
  readonly faults: Faults;
  readonly known: KnownWorld;
  /** Those that run now. */
  readonly services: readonly SimulatedService[];
  readonly weights: WishWeights;
  /** Tries in all, of all clients. */
  readonly commandsMax: number;
  readonly onEnding: (attempt: Try) => void;
}

/**
 * Clients that send request after request: with a key and without, once more although answered,
 * another one under the same key, the same one to every process concurrently.
 */
export class Requests {
  readonly sent: Sent[] = [];
  /** Tries of living processes that were not answered in time. */
  readonly unanswered: string[] = [];
  /** What a process answered about accounts with events that it cannot read. */
  readonly answeredUnread: string[] = [];
  private tries = 0;

  constructor(private readonly parts: RequestsParts) {}

  get count(): number {
    return this.tries;
  }

  async client(owner: Owner): Promise<void> {
    const { world, random, commandsMax } = this.parts;
    while (this.tries < commandsMax) {
      await this.carryThrough(this.next(), owner);
      await new Promise<void>((resolve) => world.after(random.below(20), resolve));
    }
  }

  private next(): Sent {
    const { world, random, known, weights } = this.parts;
    const again = random.onceIn(12) ? this.earlier() : undefined;
    if (again?.key !== undefined && !random.onceIn(5)) return again;
    const about = { weights, now: world.now() };
    let wish = nextWish(random, known, about);
    // Two requests under one key meet mostly where both are of one account.
    for (let n = 0; again?.key !== undefined && n < SAME_ACCOUNT_TRIES; n++)
      if (!isOfOneAccount(again.wish, wish)) wish = nextWish(random, known, about);
    const key = again?.key ?? (random.onceIn(3) ? undefined : random.uuid());
    const sent: Sent = { wish, key, body: JSON.stringify(wish), sentAt: world.now(), tries: [] };
    this.sent.push(sent);
    return sent;
  }

  private earlier(): Sent | undefined {
    const recent = this.sent.slice(-RECENT);
    return recent.length === 0 ? undefined : this.parts.random.oneOf(recent);
  }

  /** Without a key a client does not repeat what may have been done. */
  private async carryThrough(sent: Sent, owner: Owner): Promise<void> {
    const { random } = this.parts;
    const rounds = sent.key === undefined ? 1 : 1 + random.below(4);
    for (let n = 0; n < rounds; n++) {
      const isToAll = sent.key !== undefined && random.onceIn(8);
      const services = this.servicesFor(sent.wish);
      const to = isToAll ? services : [random.oneOf(services)];
      const endings = await Promise.all(to.map((service) => this.try(sent, service, owner)));
      if (endings.every(({ kind }) => kind !== 'unknown')) return;
    }
  }

  /** Clients ask an older release for nothing that it does not have. */
  private servicesFor(wish: Wish): readonly SimulatedService[] {
    return this.parts.services.filter(
      ({ without }) => without === undefined || isKnownWish(without, wish),
    );
  }

  /** An account with an event that the release of the process does not know is 503 there. */
  private unreadBy(
    { without, shared, names, owner }: SimulatedService,
    { wish, key, body }: Sent,
  ): (ending: Ending) => void {
    const { scope, faults } = this.parts;
    if (without === undefined || wish.kind === 'moderation') return () => undefined;
    const stream = names.accountStream(scope, accountRefIn(wish.accountId, scope, names));
    const { era } = shared.log;
    if (!shared.log.stream(stream).some((event) => isUnreadable(without, event)))
      return () => undefined;
    return (ending) => {
      const isKept = key !== undefined && (ending.kind !== 'accepted' || ending.isReplayed);
      if (ending.kind === 'unknown') faults.count('account of a newer release');
      else if (!isKept && era === shared.log.era)
        this.answeredUnread.push(`${ending.kind} by ${owner.name}: ${body}`);
    };
  }

  private try(sent: Sent, service: SimulatedService, owner: Owner): Promise<Ending> {
    const { world, random, scope, known, onEnding } = this.parts;
    const noteAnswer = this.unreadBy(service, sent);
    const attempt: Try = { callId: random.uuid(), service, ending: undefined };
    sent.tries.push(attempt);
    this.tries += 1;
    return new Promise((resolve) => {
      const finish = (ending: Ending): void => {
        if (attempt.ending !== undefined) return;
        attempt.ending = ending;
        stopWaiting();
        stopWatching();
        noteAnswer(ending);
        onEnding(attempt);
        resolve(ending);
      };
      const stopWaiting = world.after(ANSWER_WITHIN_MS, () => {
        if (service.hasRunThroughout) this.unanswered.push(sent.body);
        finish({ kind: 'unknown' });
      });
      const ends = { of: service.owner, to: owner };
      const stopWatching = whenBroken(this.parts, ends, () => finish({ kind: 'unknown' }));
      world.hand(service.owner, () => {
        void send(service, { ...sent, scope, callId: attempt.callId }, known).then((ending) =>
          world.hand(owner, () => finish(ending)),
        );
      });
    });
  }
}

const isOfOneAccount = (one: Wish, other: Wish): boolean =>
  one.kind === 'account' && other.kind === 'account' && one.accountId === other.accountId;
