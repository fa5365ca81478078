import { elapsed } from './world.js';

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
  held: number;
  waiting: number;
  /** By member, those that had a slot longest ago first. */
  readonly queues: Map<string, Place[]>;
  /** Slots that it held on average, at the time of `changedAt`. */
  average: number;
  /** When `held` changed last. */
  changedAt: number;
  /** When a turn that is not passing ended last. */
  wasThereAt: number;
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
  private held = 0;
  private waiting = 0;

  constructor(private readonly limits: SlotLimits) {}

  /** Asks for a slot. */
  enter({ group, member, isPassing = false }: Party): Turn {
    const place = new Place(this, this.groupOf(group), { member, isPassing });
    this.queue(place);
    this.serve();
    if (this.waiting > this.limits.waitingMax) this.displaced(place.group, member)?.end();
    return place;
  }

  /** Whether a party that entered now would be displaced at once. */
  isFullFor({ group: name, member }: Party): boolean {
    const group = this.groups.get(name) ?? newGroup(name);
    if (this.waiting < this.limits.waitingMax) return false;
    if (this.held < this.limits.slots && group.held < this.maxOf(group)) return false;
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
      if (!place.isPassing) group.wasThereAt = elapsed();
      this.moveBehind(group);
    }
    if (state === 'waiting') this.unqueue(place);
    this.drop(group);
    this.serve();
  }

  private groupOf(name: string): Group {
    const group = this.groups.get(name) ?? this.gone.get(name) ?? newGroup(name);
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
    if (group.held > 0 || group.waiting > 0 || this.groups.get(group.name) !== group) return;
    this.groups.delete(group.name);
    const { pastMs } = this.limits;
    if (pastMs > 0 && elapsed() - group.wasThereAt <= pastMs) this.gone.set(group.name, group);
  }

  private serve(): void {
    while (this.held < this.limits.slots && this.waiting > 0) {
      const next = this.nextGroup();
      if (next === undefined) return;
      this.begin(next);
    }
  }

  /** Of those that may have another slot, the one with fewest; of these, the one served first. */
  private nextGroup(): Group | undefined {
    let next: Group | undefined;
    for (const group of this.groups.values())
      if (
        group.waiting > 0 &&
        group.held < this.maxOf(group) &&
        group.held < (next?.held ?? Infinity)
      )
        next = group;
    return next;
  }

  private maxOf(group: Group): number {
    const { slots, perGroupMax, aloneMax } = this.limits;
    this.forget();
    const isThere = this.groups.has(group.name) || this.gone.has(group.name);
    const others = this.groups.size + this.gone.size - (isThere ? 1 : 0);
    if (others === 0) return aloneMax;
    const share = slots / (others + 1);
    if (this.averageOf(group) <= share) return perGroupMax;
    return Math.min(perGroupMax, Math.max(1, Math.floor(share)));
  }

  private forget(): void {
    for (const [name, { changedAt }] of this.gone) {
      if (elapsed() - changedAt <= this.limits.pastMs) return;
      this.gone.delete(name);
    }
  }

  /** Of the slots that it held, the later ones with more weight. */
  private averageOf({ held, average, changedAt }: Group): number {
    const { pastMs } = this.limits;
    if (pastMs === 0) return 0;
    return held + (average - held) * Math.exp((changedAt - elapsed()) / pastMs);
  }

  private hold(group: Group, more: 1 | -1): void {
    group.average = this.averageOf(group);
    group.changedAt = elapsed();
    group.held += more;
    this.held += more;
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

const newGroup = (name: string): Group => ({
  name,
  held: 0,
  waiting: 0,
  queues: new Map(),
  average: 0,
  changedAt: elapsed(),
  wasThereAt: -Infinity,
});
