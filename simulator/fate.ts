import { accountRefOf } from '../src/privacy/keyed-names.js';
import type { Faults } from './faults.js';
import { SERVERS } from './outages.js';
import type { SeededRandom } from './seeded-random.js';
import type { SharedStores, SimulatedService } from './service.js';
import { Owner, type VirtualWorld } from './virtual-world.js';

const DAY_MS = 86_400_000;
/** Between two looks, at most. */
const EVERY_MS = 2_000;
const FROZEN_MS = 20_000;
const BACK_MS = 60_000;
const FORWARD_MS = 3 * DAY_MS;
/** More than the log tolerates. */
const AHEAD_MS = 600_000;
const AHEAD_MS_MORE = DAY_MS / 8;
/** How long the clock is ahead, and how long until an operator accepts what it left. */
const AHEAD_FOR_MS = 2_000;
const UNACCEPTED_MS = 8_000;
/** Shorter than a client's patience. */
const OUTAGE_MS = 8_000;
/** Longer than reactions wait for a store that answers others. */
const BROKEN_MS = 20_000;
/** So many of the accounts: a referrer among them is owed something meanwhile. */
const BROKEN_ONE_IN = 4;
/** As long as some calls take: a process that changed something dies at any of its next steps. */
const DYING_MS = 60;

/** Meanwhile a day may pass. */
const PROVIDER_AWAY_MS = 30_000;
const LOST_MAX = 20;

export interface FateParts {
  readonly world: VirtualWorld;
  readonly random: SeededRandom;
  readonly faults: Faults;
  readonly shared: SharedStores;
  /** Those that run now; one that is killed is replaced in its place. */
  readonly services: SimulatedService[];
  /** In this place. */
  readonly startProcess: (place: number) => SimulatedService;
}

/** What happens to processes, to their memory, to the stores and to the clock. */
export class Fate {
  private readonly itself = new Owner('fate');
  private isStarted = false;
  private readonly happenings: Readonly<Record<string, () => void>>;

  constructor(private readonly parts: FateParts) {
    const { world, random, shared, services } = parts;
    this.happenings = {
      'process killed': () => this.replace(random.oneOf(services)),
      'process frozen': () => {
        const service = random.oneOf(services);
        service.freeze(random.onceIn(2));
        this.later(500 + random.below(FROZEN_MS), () => service.thaw());
      },
      'connection of the locks cut': () => {
        const { owner, locks } = random.oneOf(services);
        world.hand(owner, () => locks.cut());
      },
      'a cache purged': () => {
        const service = random.oneOf(services);
        world.hand(service.owner, () => service.forget());
      },
      'clock set back': () => world.moveClock(-random.below(BACK_MS)),
      'clock set forward': () => world.moveClock(random.below(FORWARD_MS)),
      'clock ahead for a moment': () => {
        const ms = AHEAD_MS + random.below(AHEAD_MS_MORE);
        world.moveClock(ms);
        this.later(random.below(AHEAD_FOR_MS), () => {
          world.moveClock(-ms);
          this.later(random.below(UNACCEPTED_MS), () => shared.log.acceptClock());
        });
      },
      'old answers purged': () => shared.answers.purge(),
      'all answers purged': () => shared.answers.purge(0),
      'server away': () => this.outage('away'),
      'server full': () => this.outage('full'),
      'provider away': () => {
        shared.outages.begin('provider', 'away');
        this.later(random.below(PROVIDER_AWAY_MS), () => shared.outages.end('provider'));
      },
      "the log's end lost": () => shared.log.loseTail(1 + random.below(LOST_MAX)),
      'streams broken': () => {
        for (const stream of shared.log.streams())
          if (accountRefOf(stream) !== undefined && random.onceIn(BROKEN_ONE_IN))
            this.later(random.below(BROKEN_MS), shared.outages.breakStream(stream));
      },
    };
  }

  /** From now on things go wrong. */
  start(): void {
    this.isStarted = true;
    this.later(0, () => this.look());
  }

  /** The process changes something: it may die of it. */
  meets(service: SimulatedService): void {
    const { random, faults } = this.parts;
    if (this.isStarted && faults.happens('process killed at a change'))
      this.later(random.below(DYING_MS), () => this.replace(service));
  }

  /** What is left of the older release makes room for the newer one. */
  upgrade(): void {
    for (const service of [...this.parts.services])
      if (service.without !== undefined) this.replace(service);
  }

  private look(): void {
    const { world, faults } = this.parts;
    for (const [fault, happen] of Object.entries(this.happenings))
      if (faults.happens(fault)) happen();
    this.later(world.within(EVERY_MS), () => this.look());
  }

  /** Another process takes the place of this one, unless one has already. */
  private replace(service: SimulatedService): void {
    const { services, startProcess } = this.parts;
    const index = services.indexOf(service);
    if (index < 0) return;
    service.kill();
    services[index] = startProcess(index);
  }

  private outage(kind: 'away' | 'full'): void {
    const { world, random, shared } = this.parts;
    const server = random.oneOf(SERVERS);
    shared.outages.begin(server, kind);
    this.later(world.within(OUTAGE_MS), () => shared.outages.end(server));
  }

  private later(ms: number, run: () => void): void {
    this.parts.world.hand(this.itself, run, ms);
  }
}
