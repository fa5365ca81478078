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
  /** Slots of a group that is alone. */
  readonly aloneMax: number;
  /**
   * How long the past counts, in milliseconds; 0: it does not. A group that had a turn is still
   * there, and one that held more than an equal share on average has no more than that.
   */
  readonly pastMs: number;
  /**
   * From this many slots held on average, a group with more than its share of them, while others
   * are there, has one at a time, and rests after each turn as long as that took. A turn counts for
   * `pastMs`: what takes longer waits for something. Default: never.
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

interface Group {
  readonly name: string;
  readonly held: Held;
  /** Without those that are held for long. */
  readonly busy: Held;
  waiting: number;
  /** By member, those that had a slot longest ago first. */
  readonly queues: Map<string, Place[]>;
  /** When a turn that is not passing ended last. */
  wasThereAt: number;
  /** Rests that are not over. */
  resting: number;
}

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
  average(): number {
    if (this.pastMs === 0) return 0;
    const weight = Math.exp((this.changedAt - elapsed()) / this.pastMs);
    return this.now + (this.before - this.now) * weight;
  }

  add(more: 1 | -1): void {
    this.before = this.average();
    this.changedAt = elapsed();
    this.now += more;
  }
}

type State = 'waiting' | 'holding' | 'paused' | 'over';

/**
 * A few slots for many parties. A free slot goes to the group that has fewest; so a group whose
 * work takes long has no more of the slots' time than the others. Within a group its members take
 * turns. A group has no more than its part while others are there, even if slots stay free: a
 * newcomer finds one, and a processor that is not busy with that group alone. Short bursts may
 * have more of it than an equal share.
 */
export class FairSlots {
  /** Groups that have a slot or wait; those that had a slot longest ago first. */
  private readonly groups = new Map<string, Group>();
  /** Groups that had a slot a moment ago; those that left first come first. */
  private readonly gone = new Map<string, Group>();
  private readonly held: Held;
  /** Without those that are held for long. */
  private readonly busy: Held;
  /** Turns that count as busy, where that matters; those that began first come first. */
  private readonly young = new Set<Place>();
  private ageing = false;
  private waiting = 0;

  constructor(private readonly limits: SlotLimits) {
    this.held = new Held(limits.pastMs);
    this.busy = new Held(limits.pastMs);
  }

  /** Asks for a slot. */
  enter({ group, member, isPassing = false }: Party): Turn {
    const place = new Place(this, this.groupOf(group), { member, isPassing });
    this.queue(place);
    this.serve();
    if (this.waiting > this.limits.waitingMax) this.displaced(place.group, member)?.end();
    return place;
  }

  /** Slots held on average of the moment before. */
  average(): number {
    return this.held.average();
  }

  /** Whether a party that entered now would be displaced at once. */
  isFullFor({ group: name, member }: Party): boolean {
    const group = this.groups.get(name) ?? newGroup(name, this.limits.pastMs);
    if (this.waiting < this.limits.waitingMax) return false;
    if (this.held.now < this.limits.slots && group.held.now < this.maxOf(group)) return false;
    const most = this.crowded(group, 1);
    return most === group && longest(group, member, 1) === member;
  }

  /** For `Place`: it waits again, before the others of its member. */
  requeue(place: Place): void {
    // It may have gone since, and come back as another one.
    place.group = this.groupOf(place.group.name);
    this.queue(place, true);
    this.serve();
  }

  /** For `Place`: it has left this state. */
  left(place: Place, state: State): void {
    const { group } = place;
    if (state === 'holding') {
      this.hold(group, -1);
      this.isPast(place);
      this.rest(group, elapsed() - place.heldSince);
      if (!place.isPassing) group.wasThereAt = elapsed();
      this.moveBehind(group);
    }
    if (state === 'waiting') this.unqueue(place);
    this.drop(group);
    this.serve();
  }

  private groupOf(name: string): Group {
    const known = this.groups.get(name) ?? this.gone.get(name);
    const group = known ?? newGroup(name, this.limits.pastMs);
    this.groups.set(name, group);
    this.gone.delete(name);
    return group;
  }

  private queue(place: Place, first = false): void {
    const { group, member } = place;
    const queue = group.queues.get(member) ?? [];
    if (first) queue.unshift(place);
    else queue.push(place);
    group.queues.set(member, queue);
    group.waiting += 1;
    this.waiting += 1;
  }

  private unqueue(place: Place): void {
    const { group, member } = place;
    const queue = group.queues.get(member) ?? [];
    queue.splice(queue.indexOf(place), 1);
    if (queue.length === 0) group.queues.delete(member);
    group.waiting -= 1;
    this.waiting -= 1;
  }

  private moveBehind(group: Group): void {
    this.groups.delete(group.name);
    this.groups.set(group.name, group);
  }

  private drop(group: Group): void {
    // A turn that paused for long may be of a group that has gone since, and come back as another.
    if (group.held.now > 0 || group.waiting > 0 || this.groups.get(group.name) !== group) return;
    this.groups.delete(group.name);
    const { pastMs } = this.limits;
    if (pastMs > 0 && elapsed() - group.wasThereAt <= pastMs) this.gone.set(group.name, group);
  }

  private serve(): void {
    this.age();
    while (this.held.now < this.limits.slots && this.waiting > 0) {
      const next = this.nextGroup();
      if (next === undefined) break;
      this.begin(next);
    }
    this.serveOnceAged();
  }

  /** Turns that take long no longer count as busy: a store that hangs must not cost a group all. */
  private age(): void {
    for (const place of this.young) {
      if (elapsed() - place.heldSince < this.limits.pastMs) return;
      this.isPast(place);
    }
  }

  private isPast(place: Place): void {
    if (!this.young.delete(place)) return;
    place.group.busy.add(-1);
    this.busy.add(-1);
  }

  /** A group whose only slot is held for long may have another. */
  private serveOnceAged(): void {
    const [oldest] = this.young;
    if (this.waiting === 0 || oldest === undefined || this.ageing) return;
    this.ageing = true;
    const serve = (): void => {
      this.ageing = false;
      this.serve();
    };
    const { pastMs } = this.limits;
    after(Math.max(0, oldest.heldSince + pastMs - elapsed()), serve, { keepsProcess: false });
  }

  /** Of those that may have another slot, the one with fewest; of these, the one served first. */
  private nextGroup(): Group | undefined {
    let next: Group | undefined;
    for (const group of this.groups.values())
      if (
        group.waiting > 0 &&
        group.held.now < this.maxOf(group) &&
        group.held.now < (next?.held.now ?? Infinity)
      )
        next = group;
    return next;
  }

  private maxOf(group: Group): number {
    const { slots, perGroupMax, aloneMax } = this.limits;
    const others = this.othersThan(group);
    if (others === 0) return aloneMax;
    if (group.resting > 0) return 0;
    if (this.isGreedy(group)) return Math.min(perGroupMax, 1 + group.held.now - group.busy.now);
    const share = slots / (others + 1);
    if (group.held.average() <= share) return perGroupMax;
    return Math.min(perGroupMax, Math.max(1, Math.floor(share)));
  }

  /** Groups that are there besides this one. */
  private othersThan({ name }: Group): number {
    this.forget();
    const isThere = this.groups.has(name) || this.gone.has(name);
    return this.groups.size + this.gone.size - (isThere ? 1 : 0);
  }

  /** It is busy with more than an equal share of what is at work, and that is not little. */
  private isGreedy(group: Group): boolean {
    const others = this.othersThan(group);
    const busy = this.busy.average();
    if (others === 0 || busy < (this.limits.restFrom ?? Infinity)) return false;
    return group.busy.average() > (GREEDY_FROM * busy) / (others + 1);
  }

  private rest(group: Group, turnMs: number): void {
    if (!this.isGreedy(group)) return;
    group.resting += 1;
    const end = (): void => {
      group.resting -= 1;
      this.serve();
    };
    // A long turn is past when the past no longer counts.
    after(Math.min(turnMs, this.limits.pastMs), end, { keepsProcess: false });
  }

  private forget(): void {
    for (const [name, { held }] of this.gone) {
      if (elapsed() - held.changedAt <= this.limits.pastMs) return;
      this.gone.delete(name);
    }
  }

  private hold(group: Group, more: 1 | -1): void {
    group.held.add(more);
    this.held.add(more);
  }

  private begin(group: Group): void {
    const [first] = group.queues;
    const place = first?.[1][0];
    if (first === undefined || place === undefined) return;
    const [member, queue] = first;
    this.unqueue(place);
    // Behind the other members, and the group behind the others.
    if (group.queues.delete(member)) group.queues.set(member, queue);
    this.moveBehind(group);
    this.hold(group, 1);
    place.begin();
    if (this.limits.restFrom === undefined) return;
    group.busy.add(1);
    this.busy.add(1);
    this.young.add(place);
  }

  /** The newest of the member with most, in the group with most; a newcomer's own where equal. */
  private displaced(newcomers: Group, member: string): Place | undefined {
    const group = this.crowded(newcomers, 0);
    return group.queues.get(longest(group, group === newcomers ? member : '', 0))?.at(-1);
  }

  /** @param more of the given group's parties that wait, besides those that are counted. */
  private crowded(given: Group, more: number): Group {
    let most = given;
    for (const group of this.groups.values())
      if (group !== given && group.waiting > most.waiting + (most === given ? more : 0))
        most = group;
    return most;
  }
}

/** The member with most that wait; the given one where equal. @param more of the given one's. */
function longest({ queues }: Group, given: string, more: number): string {
  let most = given;
  let length = (queues.get(given)?.length ?? 0) + more;
  for (const [member, queue] of queues)
    if (queue.length > length) [most, length] = [member, queue.length];
  return most;
}

/** One turn. */
class Place implements Turn {
  readonly begun: Promise<boolean>;
  /** On the clock of `elapsed`. */
  heldSince = 0;
  private state: State = 'waiting';
  private settle: (begun: boolean) => void = () => undefined;

  readonly member: string;
  readonly isPassing: boolean;

  constructor(
    private readonly slots: FairSlots,
    public group: Group,
    { member, isPassing }: Required<Omit<Party, 'group'>>,
  ) {
    this.member = member;
    this.isPassing = isPassing;
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

const newGroup = (name: string, pastMs: number): Group => ({
  name,
  held: new Held(pastMs),
  busy: new Held(pastMs),
  waiting: 0,
  queues: new Map(),
  wasThereAt: -Infinity,
  resting: 0,
});
