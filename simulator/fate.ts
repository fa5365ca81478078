import type { Faults } from './faults.js';
import type { SeededRandom } from './seeded-random.js';
import type { SharedStores, SimulatedService } from './service.js';
import { Owner, type VirtualWorld } from './virtual-world.js';

const DAY_MS = 86_400_000;
/** Between two looks, at most. */
const EVERY_MS = 2_000;
const FROZEN_MS = 20_000;
const BACK_MS = 60_000;
const FORWARD_MS = 3 * DAY_MS;

interface FateParts {
  readonly world: VirtualWorld;
  readonly random: SeededRandom;
  readonly faults: Faults;
  readonly shared: SharedStores;
  /** Those that run now; one that is killed is replaced in its place. */
  readonly services: SimulatedService[];
  readonly startProcess: () => SimulatedService;
}

/** What happens to processes, to their memory and to the clock, again and again. */
export function startFate(parts: FateParts): void {
  const { world, random, faults, shared, services } = parts;
  const itself = new Owner('fate');
  const happenings: Readonly<Record<string, () => void>> = {
    'process killed': () => {
      const index = random.below(services.length);
      services[index]?.kill();
      services[index] = parts.startProcess();
    },
    'process frozen': () => {
      const service = random.oneOf(services);
      service.freeze(random.onceIn(2));
      world.hand(itself, () => service.thaw(), 500 + random.below(FROZEN_MS));
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
    'kept answers purged': () => shared.answers.purge(),
  };
  const look = (): void => {
    for (const [fault, happen] of Object.entries(happenings)) if (faults.happens(fault)) happen();
    world.hand(itself, look, random.below(EVERY_MS));
  };
  world.hand(itself, look);
}
