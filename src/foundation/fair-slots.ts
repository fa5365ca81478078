import { after, elapsed } from './world.js';

/** Who asks for a slot. Slots are shared among groups first, then among the members of a group. */
export interface Party {
  readonly group: string;
  readonly member: string;
  /** Anybody may ask in the name of the group: once it has ended, it does not count as there. */
  readonly isPassing?: boolean;
}

export interface SlotLimits {
  /** Slots in all. */
  readonly slots: number;
  /** Slots of a group while others are there. */
  readonly perGroupMax: number;
  /** Slots of a group that is alone; it leaves the others to newcomers. */
  readonly aloneMax: number;
  /**
   * A group that is alone may have this many, beside the slots of newcomers, while that is what it
   * ends in 10 ms: a newcomer meets that much work in progress. Default: `aloneMax`.
   */
  readonly quickMax?: number;
  /**
   * How long the past counts, in milliseconds; 0: it does not. A group that had a turn is still
   * there, and one that held more than an equal share on average has no more than that.
   */
  readonly pastMs: number;
  /**
   * From this many slots held on average, a group with more than its share of them, while others
   * are there, has one at a time, and rests after each turn as long as that took; so does a member
   * with more than its share of its group's. A turn counts for `pastMs`: what takes longer waits
   * for something. Default: never.
   */
  readonly restFrom?: number;
  /** Parties that wait, in all; beyond it the group with most of them loses its newest one. */
  readonly waitingMax: number;
}

/** A party's turn: it waits for a slot, has one, or is over. */
export interface Turn {
  /** True as soon as it has a slot; false when others displaced it, or it ended before. */
  readonly begun: Promise<boolean>;
  /** Gives the slot back for a while, for a wait that takes none. Without a slot: nothing. */
  pause(): void;
  /** Waits for a slot again, before the others of its member. False: it has ended. */
  resume(): Promise<boolean>;
  /** Ends it, whatever its state. */
  end(): void;
}

/** Those that wait are alike up to this part of them. */
const ALIKE_WITHIN = 8;

/** Times an equal share: groups that ask alike differ a little. */
const GREEDY_FROM = 1.5;

/** Slots that are held. */
class Held {
  now = 0;
  /** When `now` changed last, on the clock of `elapsed`. */
  changedAt = elapsed();
  private before = 0;

  /** @param pastMs how long the past counts; 0: it does not. */
  constructor(private readonly pastMs: number) {}

  /** Of the slots that were held, the later ones with more weight. */
  average(nowMs = elapsed()): number {
    if (this.pastMs === 0) return 0;
    const weight = Math.exp((this.changedAt - nowMs) / this.pastMs);
    return this.now + (this.before - this.now) * weight;
  }

  /** @param nowMs of the clock of `elapsed`, which is read once for all that change together. */
  add(more: 1 | -1, nowMs: number): void {
    this.before = this.average(nowMs);
    this.changedAt = nowMs;
    this.now += more;
  }
}

/** As many milliseconds of its work as a newcomer may find before it. */
const QUICK_MS = 10;

/** How many of something there were in the past, the later ones with more weight. */
class Counted {
  private before = 0;
  private at = elapsed();

  constructor(private readonly pastMs: number) {}

  now(): number {
    if (this.pastMs === 0) return 0;
    return this.before * Math.exp((this.at - elapsed()) / this.pastMs);
  }

  add(): void {
    this.before = this.now() + 1;
    this.at = elapsed();
  }
}

type State = 'waiting' | 'holding' | 'paused' | 'over';

/** A group among all, or a member among those of its group. */
class Sharer {
  readonly held: Held;
  /** Without those that are held for long. */
  readonly busy: Held;
  waiting = 0;
  /** When a turn that is not passing ended last. */
  wasThereAt = -Infinity;
  /** Rests that are not over. */
  resting = 0;

  constructor(
    readonly name: string,
    pastMs: number,
  ) {
    this.held = new Held(pastMs);
    this.busy = new Held(pastMs);
  }
}

/** Those that share the slots of one whole. */
class Peers<T extends Sharer> {
  /** Those that have a slot or wait; those that had a slot longest ago first. */
  private readonly present = new Map<string, T>();
  /** Those that had a slot a moment ago; those that left first come first. */
  private readonly gone = new Map<string, T>();

  constructor(
    private readonly pastMs: number,
    private readonly make: (name: string) => T,
  ) {}

  /** Those that have a slot or wait. */
  all(): Iterable<T> {
    return this.present.values();
  }

  /** It has a slot or waits, or is new. */
  find(name: string): T {
    return this.present.get(name) ?? this.make(name);
  }

  enter(name: string): T {
    const one = this.gone.get(name) ?? this.find(name);
    this.present.set(name, one);
    this.gone.delete(name);
    return one;
  }

  moveBehind(one: T): void {
    this.present.delete(one.name);
    this.present.set(one.name, one);
  }

  /** It goes, unless it has a slot or waits. */
  drop(one: T): void {
    // A turn that paused for long may be of one that has gone since, and come back as another.
    if (one.held.now > 0 || one.waiting > 0 || this.present.get(one.name) !== one) return;
    this.present.delete(one.name);
    if (this.pastMs > 0 && elapsed() - one.wasThereAt <= this.pastMs) this.gone.set(one.name, one);
  }

  /** How many are there besides this one. */
  othersThan({ name }: Sharer): number {
    this.forget();
    const isThere = this.present.has(name) || this.gone.has(name);
    return this.present.size + this.gone.size - (isThere ? 1 : 0);
  }

  private forget(): void {
    for (const [name, { held }] of this.gone) {
      if (elapsed() - held.changedAt <= this.pastMs) return;
      this.gone.delete(name);
    }
  }
}

class Member extends Sharer {
  /** Its parties that wait. */
  readonly queue: Place[] = [];
}

class Group extends Sharer {
  readonly peers: Peers<Member>;
  /** Its turns that ended. */
  readonly ended: Counted;

  constructor(name: string, pastMs: number) {
    super(name, pastMs);
    this.peers = new Peers(pastMs, (member) => new Member(member, pastMs));
    this.ended = new Counted(pastMs);
  }
}

/** All groups together. */
class Whole extends Sharer {
  readonly peers: Peers<Group>;

  constructor(pastMs: number) {
    super('', pastMs);
    this.peers = new Peers(pastMs, (group) => new Group(group, pastMs));
  }
}

/** Who has a slot: a member, its group and the whole have it. */
interface Sharers {
  readonly group: Group;
  readonly member: Member;
}

/**
 * A few slots for many parties. A free slot goes to the group that has fewest; so a group whose
 * work takes long has no more of the slots' time than the others. Within a group its members take
 * turns. A group has no more than its part while others are there, even if slots stay free: a
 * newcomer finds one, and a processor that is not busy with that group alone. Short bursts may
 * have more of it than an equal share.
 */
export class FairSlots {
  private readonly whole: Whole;
  /** Turns that count as busy, where that matters; those that began first come first. */
  private readonly young = new Set<Place>();
  /** Slots that groups have beside those that are shared. */
  private beside = 0;
  /** A look at those that wait is due. */
  private looksAgain = false;

  constructor(private readonly limits: SlotLimits) {
    this.whole = new Whole(limits.pastMs);
  }

  /** Asks for a slot. */
  enter({ group, member, isPassing = false }: Party): Turn {
    const place = new Place(this, this.sharersOf(group, member), isPassing);
    this.queue(place);
    this.serve();
    if (this.whole.waiting + this.beside > this.limits.waitingMax)
      this.displaced(place.sharers)?.end();
    return place;
  }

  /** Slots held on average of the moment before. */
  average(): number {
    return this.whole.held.average();
  }

  /**
   * How many more may wait. With none or fewer, some are displaced: of those that enter, or of
   * those that are there.
   */
  get room(): number {
    return this.limits.waitingMax - this.whole.waiting - this.beside;
  }

  /** Whether a party that entered now would be displaced at once. */
  isFullFor({ group: name, member }: Party): boolean {
    const { peers } = this.whole;
    if (this.room > 0) return false;
    const group = peers.find(name);
    if (this.hasFree() && group.held.now < this.maxOf(group)) return false;
    const own = group.peers.find(member);
    return longest(peers.all(), group, 1) === group && longest(group.peers.all(), own, 1) === own;
  }

  /** For `Place`: it waits again, before the others of its member. */
  requeue(place: Place): void {
    const { group, member } = place.sharers;
    // They may have gone since, and come back as others.
    place.sharers = this.sharersOf(group.name, member.name);
    this.queue(place, true);
    this.serve();
  }

  /** For `Place`: it has left this state. */
  left(place: Place, state: State): void {
    const { group, member } = place.sharers;
    if (state === 'holding') {
      this.hold(place, -1);
      group.ended.add();
      this.isPast(place);
      const turnMs = elapsed() - place.heldSince;
      this.rest(group, this.whole, turnMs);
      this.rest(member, group, turnMs);
      if (!place.isPassing) group.wasThereAt = member.wasThereAt = elapsed();
      this.whole.peers.moveBehind(group);
    }
    if (state === 'waiting') this.unqueue(place);
    group.peers.drop(member);
    this.whole.peers.drop(group);
    this.serve();
  }

  private sharersOf(groupName: string, memberName: string): Sharers {
    const group = this.whole.peers.enter(groupName);
    return { group, member: group.peers.enter(memberName) };
  }

  private queue(place: Place, first = false): void {
    const { queue } = place.sharers.member;
    if (first) queue.unshift(place);
    else queue.push(place);
    this.countWaiting(place, 1);
  }

  private unqueue(place: Place): void {
    const { queue } = place.sharers.member;
    queue.splice(queue.indexOf(place), 1);
    this.countWaiting(place, -1);
  }

  private countWaiting({ sharers: { group, member } }: Place, more: 1 | -1): void {
    for (const one of [this.whole, group, member]) one.waiting += more;
  }

  private count({ sharers: { group, member } }: Place, what: 'held' | 'busy', more: 1 | -1): void {
    const nowMs = elapsed();
    for (const one of [this.whole, group, member]) one[what].add(more, nowMs);
  }

  private hold(place: Place, more: 1 | -1): void {
    const { group } = place.sharers;
    const besideBefore = this.besideOf(group);
    this.count(place, 'held', more);
    this.beside += this.besideOf(group) - besideBefore;
  }

  private besideOf({ held }: Group): number {
    return Math.max(0, held.now - this.limits.aloneMax);
  }

  /** A slot of those that are shared. */
  private hasFree(): boolean {
    return this.whole.held.now - this.beside < this.limits.slots;
  }

  private serve(): void {
    this.age();
    while (this.whole.waiting > 0) {
      const next = this.next();
      if (next === undefined) break;
      this.begin(next);
    }
    this.serveOncePast();
  }

  /** Turns that take long no longer count as busy: a store that hangs must not cost a group all. */
  private age(): void {
    for (const place of this.young) {
      if (elapsed() - place.heldSince < this.limits.pastMs) return;
      this.isPast(place);
    }
  }

  private isPast(place: Place): void {
    if (this.young.delete(place)) this.count(place, 'busy', -1);
  }

  /**
   * Who may have a slot by time alone: turns no longer count as busy, others are no longer there.
   * Nothing else may happen until then.
   */
  private serveOncePast(): void {
    const { pastMs } = this.limits;
    if (this.whole.waiting === 0 || pastMs === 0 || this.looksAgain || !this.hasFree()) return;
    this.looksAgain = true;
    const serve = (): void => {
      this.looksAgain = false;
      this.serve();
    };
    const [oldest] = this.young;
    const since = oldest?.heldSince ?? elapsed();
    after(Math.max(0, since + pastMs - elapsed()), serve, { keepsProcess: false });
  }

  /** Of the groups that may have another slot, the one with fewest, then the one served first. */
  private next(): Place | undefined {
    let fewest = Infinity;
    let next: Place | undefined;
    for (const group of this.whole.peers.all()) {
      const { now } = group.held;
      if (group.waiting === 0 || now >= fewest || now >= this.maxOf(group)) continue;
      if (now < this.limits.aloneMax && !this.hasFree()) continue;
      const first = this.nextOf(group);
      if (first !== undefined) [next, fewest] = [first, now];
    }
    return next;
  }

  private nextOf(group: Group): Place | undefined {
    for (const member of group.peers.all())
      if (member.waiting > 0 && this.mayHaveOne(member, group)) return member.queue[0];
    return undefined;
  }

  private mayHaveOne(member: Member, group: Group): boolean {
    if (group.peers.othersThan(member) === 0) return true;
    return member.resting === 0 && !(member.busy.now > 0 && this.isGreedy(member, group));
  }

  private maxOf(group: Group): number {
    const { slots, perGroupMax } = this.limits;
    const others = this.whole.peers.othersThan(group);
    if (others === 0) return this.aloneMaxOf(group);
    if (group.resting > 0) return 0;
    if (this.isGreedy(group, this.whole))
      return Math.min(perGroupMax, 1 + group.held.now - group.busy.now);
    const share = slots / (others + 1);
    if (group.held.average() <= share) return perGroupMax;
    return Math.min(perGroupMax, Math.max(1, Math.floor(share)));
  }

  private aloneMaxOf({ ended }: Group): number {
    const { aloneMax, quickMax = aloneMax, pastMs } = this.limits;
    if (quickMax === aloneMax) return aloneMax;
    return Math.max(aloneMax, Math.min(quickMax, (ended.now() * QUICK_MS) / pastMs));
  }

  /** It is busy with more than an equal share of what is at work, and that is not little. */
  private isGreedy(one: Sharer, within: Whole | Group): boolean {
    const others = within.peers.othersThan(one);
    const busy = within.busy.average();
    if (others === 0 || busy < (this.limits.restFrom ?? Infinity)) return false;
    return one.busy.average() > (GREEDY_FROM * busy) / (others + 1);
  }

  private rest(one: Sharer, within: Whole | Group, turnMs: number): void {
    if (!this.isGreedy(one, within)) return;
    one.resting += 1;
    const end = (): void => {
      one.resting -= 1;
      this.serve();
    };
    // A long turn is past when the past no longer counts.
    after(Math.min(turnMs, this.limits.pastMs), end, { keepsProcess: false });
  }

  private begin(place: Place): void {
    const { group, member } = place.sharers;
    this.unqueue(place);
    group.peers.moveBehind(member);
    this.whole.peers.moveBehind(group);
    this.hold(place, 1);
    place.begin();
    if (this.limits.restFrom === undefined) return;
    this.count(place, 'busy', 1);
    this.young.add(place);
  }

  /**
   * The newest of the member with most, in the group with most; a newcomer's own where they differ
   * little.
   */
  private displaced({ group: own, member }: Sharers): Place | undefined {
    const group = longest(this.whole.peers.all(), own, 0);
    const none = new Member('', 0);
    return longest(group.peers.all(), group === own ? member : none, 0).queue.at(-1);
  }
}

/**
 * Who has most that wait; the given one where they differ little. Whoever is displaced has waited
 * in vain, and of many that ask alike now one and now another has a few more.
 * @param more of the given one's.
 */
function longest<T extends Sharer>(all: Iterable<T>, given: T, more: number): T {
  let most = given;
  const own = given.waiting + more;
  let count = own + Math.floor(own / ALIKE_WITHIN);
  for (const one of all)
    if (one !== given && one.waiting > count) [most, count] = [one, one.waiting];
  return most;
}

/** One turn. */
class Place implements Turn {
  readonly begun: Promise<boolean>;
  /** On the clock of `elapsed`. */
  heldSince = 0;
  private state: State = 'waiting';
  private settle: (begun: boolean) => void = () => undefined;

  constructor(
    private readonly slots: FairSlots,
    public sharers: Sharers,
    readonly isPassing: boolean,
  ) {
    this.begun = this.next();
  }

  pause(): void {
    if (this.state === 'holding') this.enter('paused');
  }

  resume(): Promise<boolean> {
    if (this.state !== 'paused') return Promise.resolve(this.state !== 'over');
    const resumed = this.next();
    this.state = 'waiting';
    this.slots.requeue(this);
    return resumed;
  }

  end(): void {
    if (this.state === 'over') return;
    this.enter('over');
    this.settle(false);
  }

  /** For `FairSlots`. */
  begin(): void {
    this.state = 'holding';
    this.heldSince = elapsed();
    this.settle(true);
  }

  private enter(state: 'paused' | 'over'): void {
    const before = this.state;
    this.state = state;
    this.slots.left(this, before);
  }

  private next(): Promise<boolean> {
    return new Promise((resolve) => (this.settle = resolve));
  }
}
