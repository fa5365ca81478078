import { isDeepStrictEqual } from 'node:util';
import type { Statement } from '../src/bookkeeping/statement.js';
import { PeriodCommandEnvelope } from '../src/command-handling/commands.js';
import type { ChangePeriod } from '../src/domain/period/period.decider.js';
import type { Refusal } from '../src/domain/refusal.js';
import type { Scope } from '../src/domain/scope.js';
import type { CommandMeta } from '../src/event-log/envelope.js';
import { newId } from '../src/foundation/world.js';
import { statementOfAccount } from '../src/operations/ledger/ledger-statement.js';
import { NotDone, outcomeOf } from '../src/operations/outcome.js';
import { closedPeriods } from '../src/operations/ledger/ledger-periods.js';
import type { SeededRandom } from './seeded-random.js';
import type { SimulatedService } from './service.js';
import type { Owner, VirtualWorld } from './virtual-world.js';

const FINANCE = { subject: '00000000-0000-4000-8000-000000000003', value: null };

export interface MonthEndParts {
  readonly world: VirtualWorld;
  readonly random: SeededRandom;
  readonly scope: Scope;
  readonly accounts: readonly string[];
  /** Those that run now. */
  readonly services: readonly SimulatedService[];
  /** Does something in the name of a process, and waits for it. */
  readonly inProcess: <T>(owner: Owner, work: () => Promise<T>) => Promise<T>;
}

/**
 * Finance closes each month that is over, opens one again now and then, and looks at the statements
 * of what was closed once: they must never change. A process at random does each.
 */
export class MonthEnd {
  readonly broken: string[] = [];
  /** What is closed, as finance was answered. */
  private readonly closed = new Set<string>();
  /** As they were when each month was closed for the first time, by account. */
  private readonly statements = new Map<string, ReadonlyMap<string, Statement | NotDone>>();

  constructor(private readonly parts: MonthEndParts) {}

  /** At a quiet point: nothing goes wrong, and nothing is under way. */
  async look(): Promise<void> {
    const { world, random } = this.parts;
    const month = monthOf(world.now());
    const over = monthOf(firstOf(month) - 1);
    await this.change('ClosePeriod', month, 'PERIOD_NOT_OVER');
    await this.change('ReopenPeriod', month, 'PERIOD_NOT_CLOSED');
    if (this.closed.has(over)) await this.change('ClosePeriod', over, 'PERIOD_ALREADY_CLOSED');
    else await this.change('ClosePeriod', over, undefined);
    if (random.onceIn(3)) await this.change('ReopenPeriod', over, undefined);
    if (!this.statements.has(over)) this.statements.set(over, await this.statementsOf(over));
    for (const [name, before] of this.statements)
      for (const [account, statement] of await this.statementsOf(name))
        if (!isDeepStrictEqual(statement, before.get(account)))
          this.broken.push(`the statement of ${account} of ${name} has changed after its close`);
    await this.compareClosed();
  }

  /** @param expected undefined: it is done. */
  private async change(
    type: ChangePeriod['type'],
    period: string,
    expected: Refusal | undefined,
  ): Promise<void> {
    const { world, random, services, scope, inProcess } = this.parts;
    const { owner, commands } = random.oneOf(services);
    const endsAt = endOf(period);
    const command = { type, period, endsAt, now: world.now(), comment: FINANCE, by: FINANCE };
    const outcome = await inProcess(owner, () =>
      commands.execute(new PeriodCommandEnvelope(metaOf(scope), command)),
    );
    const refusal = 'refused' in outcome ? outcome.refused : undefined;
    if (refusal !== expected)
      this.broken.push(`${type} of ${period}: ${refusal ?? 'done'}, not ${expected ?? 'done'}`);
    if (refusal !== undefined) return;
    if (type === 'ClosePeriod') this.closed.add(period);
    else this.closed.delete(period);
  }

  private async statementsOf(period: string): Promise<ReadonlyMap<string, Statement | NotDone>> {
    const { world, random, services, scope, accounts, inProcess } = this.parts;
    const [from, to] = [iso(firstOf(period)), iso(endOf(period))];
    const { owner, log, codec, names } = random.oneOf(services);
    const statements = new Map<string, Statement | NotDone>();
    await inProcess(owner, async () => {
      for (const accountId of accounts) {
        const asked = { account: accountId, from, to };
        const core = { log, codec, names, tenants: { now: async () => world.now() } };
        const found = await outcomeOf(() => statementOfAccount(core, scope, asked));
        statements.set(accountId, found instanceof NotDone ? found : found.result);
      }
    });
    return statements;
  }

  private async compareClosed(): Promise<void> {
    const { services, scope, inProcess } = this.parts;
    for (const { owner, streams, names } of services) {
      const months = await inProcess(owner, () => closedPeriods({ streams, names }, scope));
      const known = new Set(months);
      if (!isDeepStrictEqual(known, this.closed))
        this.broken.push(`${owner.name} has ${[...known].join(', ')} as the closed months`);
    }
  }
}

const iso = (time: number): string => new Date(time).toISOString();
const monthOf = (time: number): string => iso(time).slice(0, 7);
/** Its first moment, UTC. */
const firstOf = (month: string): number => Date.parse(`${month}-01T00:00:00Z`);
/** Its last moment. */
function endOf(month: string): number {
  const first = new Date(firstOf(month));
  return Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1) - 1;
}

function metaOf(scope: Scope): CommandMeta {
  const [commandId, correlationId] = [newId(), newId()];
  const actor = { kind: 'operator', id: 'simulator' } as const;
  return { scope, commandId, correlationId, causationId: correlationId, actor, idempotency: null };
}
