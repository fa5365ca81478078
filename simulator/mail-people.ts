import type { TenantCommands } from '../src/command-handling/tenant-commands.js';
import type { Scope } from '../src/domain/scope.js';
import { timeNow } from '../src/foundation/world.js';
import type { KeyedNames } from '../src/privacy/keyed-names.js';
import { MAIL_TYPES, type MailType } from '../src/themes/theme-instance.js';
import { testAddresses, unsubscribing } from './mailing.js';
import type { SeededRandom } from './seeded-random.js';
import type { SharedStores, SimulatedService } from './service.js';
import { Owner, type VirtualWorld } from './virtual-world.js';

/** Between two of their deeds, at most. */
const EVERY_MS = 3_000;
/** The one that staff switch. */
const SWITCHED: MailType = 'REWARD_EARNED';

/** Whether a tenant sends mails, and whether its staff change their minds. */
export type MailSwitching = 'off' | 'steady' | 'changing';

/** An address of a user of the simulated world. */
export const addressOf = (userId: string, accountId: string): string =>
  `${userId}@${accountId}.example`;

/** The users whose addresses the test mode may send to. */
const TESTER = 'ann';
export const isTestAddress = (address: string): boolean => address.startsWith(`${TESTER}@`);

/** Switches every type on. @throws while a store is away. */
export async function switchMailsOn(
  tenants: TenantCommands,
  alias: string,
  of: { readonly names: KeyedNames; readonly accounts: readonly string[] },
): Promise<true> {
  const listed = of.accounts.map((accountId) => addressOf(TESTER, accountId));
  const testTo = await testAddresses(of.names).sealed(alias, listed);
  const types = [...MAIL_TYPES];
  await tenants.execute(alias, { type: 'ChangeMailSettings', types, testTo, now: timeNow() });
  return true;
}

export interface MailPeopleParts {
  readonly world: VirtualWorld;
  readonly random: SeededRandom;
  readonly scope: Scope;
  readonly names: KeyedNames;
  readonly shared: SharedStores;
  readonly services: readonly SimulatedService[];
  readonly switching: MailSwitching;
  readonly tenantsOf: (service: SimulatedService) => TenantCommands;
}

/** Who unsubscribes by the link of a mail, and the staff who switch a type on and off. */
export class MailPeople {
  private readonly itself = new Owner('mail people');
  private isOver = false;

  constructor(private readonly parts: MailPeopleParts) {}

  start(): void {
    if (this.parts.switching !== 'off') this.later();
  }

  stop(): void {
    this.isOver = true;
  }

  private later(): void {
    const { world } = this.parts;
    world.hand(this.itself, () => this.next(), world.within(EVERY_MS));
  }

  private next(): void {
    if (this.isOver) return;
    const { world, random, services, switching } = this.parts;
    const service = random.oneOf(services);
    const act =
      switching === 'changing' && random.onceIn(2)
        ? () => this.switch(service)
        : () => this.unsubscribe(service);
    world.hand(service.owner, () => void act().catch(() => undefined));
    this.later();
  }

  private async switch(service: SimulatedService): Promise<void> {
    const { random, scope, tenantsOf } = this.parts;
    const types = MAIL_TYPES.filter((type) => type !== SWITCHED || random.onceIn(2));
    await tenantsOf(service).execute(scope.tenant, {
      type: 'ChangeMailSettings',
      types,
      now: timeNow(),
    });
  }

  private async unsubscribe({ gateway }: SimulatedService): Promise<void> {
    const { random, scope, names, shared } = this.parts;
    const { taken } = shared.mailServer;
    if (taken.length === 0) return;
    const { unsubscribeUrl } = random.oneOf(taken);
    const token = unsubscribeUrl?.split('/').at(-1) ?? '';
    const recipient = unsubscribing(names).recipientOf(token);
    if (recipient === undefined) return;
    await gateway.unsubscribe(scope, recipient.account, recipient.person);
  }
}
