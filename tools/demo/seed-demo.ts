import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import {
  AccountCommandEnvelope,
  type AccountOutcome,
} from '../../src/command-handling/commands.js';
import type { Core } from '../../src/stores/core.js';
import type { AccountCommand } from '../../src/domain/account/account.decider.js';
import { availableCredit } from '../../src/domain/account/rewards/redemption.js';
import type { DomainEvent } from '../../src/domain/events.js';
import type { Scope } from '../../src/domain/scope.js';
import type { ProgramDocument } from '../../src/domain/tenant/tenant.decider.js';
import type { StaffMeta } from '../../src/operations/audit.js';
import { auditedOn, type Done } from '../../src/operations/audited.js';
import { accountsInLog } from '../../src/operations/ledger/ledger-entries.js';
import { changePeriodWithAudit } from '../../src/operations/ledger/ledger-periods.js';
import { proposalNameOf } from '../../src/operations/ledger/ledger-proposals.js';
import { approveWithAudit, proposeWithAudit } from '../../src/operations/ledger/proposal-steps.js';
import { moderateReferrals } from '../../src/operations/referrals/moderate-referrals.js';
import { timeNow } from '../../src/foundation/world.js';
import type { LedgerEvent } from '../../src/projecting/projector.js';
import type { TenantSecrets } from '../../src/command-handling/tenant-commands.js';
import {
  DAY_MS,
  demoStory,
  type DemoAccount,
  type DemoPerson,
  type Gift,
  type Step,
  type Story,
} from './demo-story.js';
import { Past } from './past.js';
import { ReactionsOfThePast } from './reactions-of-the-past.js';

/** Nothing was changed, for this reason. */
export class NotSeeded extends Error {
  override readonly name = 'NotSeeded';
}

export interface DemoOptions {
  readonly tenant: string;
  readonly accounts: number;
  readonly days: number;
  readonly seed: number;
  /** Epoch milliseconds: the demo ends shortly before. */
  readonly now: number;
  /** Called with the number of days that are over. */
  readonly onDay?: (days: number) => void;
}

export interface Seeded {
  /** Of a tenant that was made; undefined: it was there. */
  readonly secrets: TenantSecrets | undefined;
  readonly events: number;
  /** `YYYY-MM`: the month that was closed. */
  readonly closed: string;
  /** An account with much to see. */
  readonly account: DemoAccount;
}

/** Who works at the demo tenant, by role. */
export const DEMO_OPERATORS = {
  fay: ['finance'],
  flo: ['finance'],
  sam: ['support'],
  vic: ['viewer'],
} as const;

const AT_ONCE = 16;
/** How long a decision on a referral takes. */
const DECIDED_AFTER_MS = 2 * DAY_MS;
const DECIDED_AT_ONCE = 50;

const PROGRAM: ProgramDocument = {
  id: 'default',
  name: 'Bring a friend',
  referredReward: { type: 'PCT_DISCOUNT', discountPercent: 10, monthsDiscountIsValid: 3 },
  referrerReward: {
    type: 'CREDIT',
    unit: 'CENTS',
    assignedCredit: 1_000,
    delayDays: 3,
    validDays: 45,
  },
  fraud: { name: 'pending' },
};

/**
 * Fills a tenant with accounts and their past. @throws {NotSeeded} when it has accounts already,
 * also those of an interrupted run: nothing is deleted from a log.
 */
export async function seedDemo(core: Core, options: DemoOptions): Promise<Seeded> {
  const scope: Scope = { tenant: options.tenant, mode: 'live' };
  await refuseUsed(core, scope);
  const story = demoStory({ ...options, until: options.now });
  const [first] = story.steps;
  if (first === undefined) throw new NotSeeded('a demo has at least one account and one day');
  const past = Past.enter(core.log, first.at - 3_600_000);
  try {
    const secrets = await openTenant(core, scope);
    return { secrets, ...(await new Seeding(core, scope, past).play(story, options)) };
  } finally {
    past.leave();
  }
}

async function refuseUsed({ log, names, tenants }: Core, scope: Scope): Promise<void> {
  if ((await tenants.read(scope.tenant)) === undefined) return;
  const prefix = names.accountStream(scope, '');
  for await (const _ of accountsInLog(log, prefix, { upTo: await log.head() }))
    throw new NotSeeded(
      `tenant ${scope.tenant} has accounts already, perhaps of an interrupted run: nothing was changed. Name a new one: --tenant demo-2`,
    );
}

async function openTenant(
  { tenants, tenantCommands }: Core,
  { tenant: alias }: Scope,
): Promise<TenantSecrets | undefined> {
  const isThere = (await tenants.read(alias)) !== undefined;
  const changed = isThere
    ? await tenantCommands.execute(alias, {
        type: 'ApplyProgram',
        program: PROGRAM,
        now: timeNow(),
      })
    : await tenantCommands.create({
        alias,
        programType: 'API_ONLY',
        openEndpoints: false,
        program: PROGRAM,
      });
  if ('refused' in changed) throw new NotSeeded(`tenant ${alias}: ${changed.refused}`);
  return 'liveApiKey' in changed ? changed : undefined;
}

interface WaitingReferral {
  readonly referralId: string;
  readonly decidedAt: number;
  readonly action: 'APPROVED' | 'DENIED';
}

/** What operators do, in its place between the steps of the customers. */
interface OfficeDeed {
  readonly at: number;
  readonly work: () => Promise<void>;
}

class Seeding {
  private readonly limit = pLimit(AT_ONCE);
  private readonly accounts = new Map<string, DemoAccount>();
  private waiting: WaitingReferral[] = [];
  private events = 0;

  constructor(
    private readonly core: Core,
    private readonly scope: Scope,
    private readonly past: Past,
  ) {}

  async play(
    { steps, accounts }: Story,
    { now, onDay }: DemoOptions,
  ): Promise<Omit<Seeded, 'secrets'>> {
    for (const account of accounts) this.accounts.set(account.accountId, account);
    const [account] = accounts;
    if (account === undefined) throw new NotSeeded('a demo has at least one account');
    const reactions = await ReactionsOfThePast.from(this.core, this.scope, (event) =>
      this.note(event),
    );
    const closed = monthBeforeLast(now);
    const office = this.office({ steps, account, closed, now });
    const begun = steps[0]?.at ?? now;
    for (const moment of momentsOf(steps, office)) {
      this.past.moveTo(moment.at);
      await reactions.settle(this.past.now());
      await Promise.all(moment.steps.map((step) => this.limit(() => this.take(step))));
      await this.moderate();
      for (const { work } of moment.office) await work();
      await reactions.toAll();
      onDay?.(Math.floor((moment.at - begun) / DAY_MS));
    }
    return { events: this.events, closed, account };
  }

  private note({ event }: LedgerEvent<DomainEvent>): void {
    this.events += 1;
    if (event.type !== 'ReferralStarted') return;
    const { referralId, referred, referredStatus, referrerStatus, at } = event;
    const verdict = this.accounts.get(referred.ids.value?.accountId ?? '')?.verdict ?? 'none';
    if (verdict === 'none' || ![referredStatus, referrerStatus].includes('PENDING')) return;
    this.waiting.push({ referralId, decidedAt: at + DECIDED_AFTER_MS, action: verdict });
  }

  private async moderate(): Promise<void> {
    const now = this.past.now();
    const due = this.waiting.filter(({ decidedAt }) => decidedAt <= now).slice(0, DECIDED_AT_ONCE);
    if (due.length === 0) return;
    const decided = new Set(due.map(({ referralId }) => referralId));
    this.waiting = this.waiting.filter(({ referralId }) => !decided.has(referralId));
    const asked = due.map(({ referralId, action }) => ({ referralId, action }));
    await this.asOperator('sam', 'referral moderate', async (core, meta) => {
      const result = await moderateReferrals(core, meta, asked);
      return { result, parameters: { referrals: asked.length } };
    });
  }

  /** What the operators of the demo do, besides deciding on referrals. */
  private office(given: {
    readonly steps: readonly Step[];
    readonly account: DemoAccount;
    readonly closed: string;
    readonly now: number;
  }): readonly OfficeDeed[] {
    const { steps, account, closed, now } = given;
    const first = steps[0]?.at ?? now;
    const last = steps.at(-1)?.at ?? now;
    const from = (wanted: number): number => Math.min(Math.max(wanted, first), last);
    const subscribe = (url: string, name: string) => () => this.subscribed(url, name);
    return [
      { at: from(last - 40 * DAY_MS), work: subscribe(CLOSED_SHOP, 'Old shop') },
      { at: from(last - 20 * DAY_MS), work: () => this.gone(CLOSED_SHOP) },
      { at: from(last - DAY_MS), work: subscribe(UNREACHABLE, 'Billing') },
      { at: from(firstOfLastMonth(now) + 2 * DAY_MS), work: () => this.closes(closed) },
      { at: from(last - 9 * DAY_MS), work: () => this.corrected(account, 'flo') },
      { at: from(last), work: () => this.corrected(account, undefined) },
    ].sort((a, b) => a.at - b.at);
  }

  private async take({ account, deed }: Step): Promise<void> {
    const { owner } = account;
    switch (deed.kind) {
      case 'joins':
        return this.joins(account);
      case 'pays':
        return this.subscription(account, 'PAID');
      case 'leaves':
        return this.subscription(account, 'CANCELLED');
      case 'invites-colleague':
        return void (await this.send(account, personRequest(deed.colleague)));
      case 'orders':
        return void (await this.send(account, orderRequest(owner, deed.total)));
      case 'spends':
        return this.spends(account, deed.upTo);
      case 'gets':
        return this.gets(account, deed.gift);
      case 'is-blocked':
        return void (await this.send(account, { type: 'BlockUser', userId: owner.userId }));
      case 'is-forgotten':
        return void (await this.send(account, {
          type: 'ForgetUser',
          userId: owner.userId,
          doNotTrack: false,
          preserveEmptyAccount: true,
        }));
    }
  }

  private async joins(account: DemoAccount): Promise<void> {
    await this.send(account, {
      type: 'SyncAccount',
      accountId: account.accountId,
      subscription: { status: 'TRIAL' },
      currency: 'EUR',
      codes: account.code === null ? [] : [account.code],
    });
    await this.send(account, personRequest(account.owner));
  }

  private async subscription(account: DemoAccount, status: 'PAID' | 'CANCELLED'): Promise<void> {
    const { accountId } = account;
    const value = { value: 29, billingIntervalType: 'MONTH' as const, billingIntervalValue: 1 };
    await this.send(account, {
      type: 'SyncAccount',
      accountId,
      subscription: status === 'PAID' ? { status, ...value } : { status },
      currency: undefined,
      codes: [],
    });
  }

  private async spends(account: DemoAccount, upTo: number): Promise<void> {
    const { streams, names } = this.core;
    const stream = names.accountStream(this.scope, this.refOf(account));
    const { state } = await streams.accounts.load(stream);
    const unit = 'CENTS';
    const has = state.status === 'open' ? availableCredit(state, unit, this.past.now()) : 0;
    const amount = Math.min(has, upTo);
    if (amount > 0) await this.send(account, { type: 'RedeemAccountCredit', amount, unit });
  }

  private async gets(account: DemoAccount, gift: Gift): Promise<void> {
    const in_ = (days: number | null): number | null =>
      days === null ? null : this.past.now() + days * DAY_MS;
    const { unit, amount, name, expiresInDays, usableInDays, isMistake } = gift;
    const outcome = await this.send(account, {
      type: 'CreateReward',
      userId: account.owner.userId,
      value: { type: 'CREDIT', unit, assignedCredit: amount, currency: null },
      name,
      description: null,
      cancellable: true,
      dateScheduledFor: in_(usableInDays),
      dateExpires: in_(expiresInDays),
    });
    const granted = outcome.events.find((event) => event.type === 'RewardGranted');
    if (isMistake && granted !== undefined)
      await this.send(account, { type: 'CancelReward', rewardId: granted.rewardId });
  }

  private refOf({ accountId }: DemoAccount): string {
    return this.core.names.accountRef(this.scope, accountId);
  }

  private async send(
    account: DemoAccount,
    request: AccountCommand,
  ): Promise<Extract<AccountOutcome, { kind: 'accepted' }>> {
    const meta = this.metaOf(request.type);
    const envelope = new AccountCommandEnvelope(meta, this.refOf(account), request);
    const outcome = await this.core.commands.execute(envelope);
    if (outcome.kind === 'refused')
      throw new Error(`${request.type} of ${account.accountId}: ${outcome.refused}`);
    return outcome;
  }

  private metaOf(cause: string) {
    const id = randomUUID();
    return {
      scope: this.scope,
      commandId: id,
      correlationId: id,
      causationId: cause,
      actor: { kind: 'api-key', id: 'live-demo' },
      idempotency: null,
    } as const;
  }

  private async subscribed(url: string, name: string): Promise<void> {
    const changed = await this.core.webhooks.subscribe(this.metaOf('Subscribe'), url, { name });
    if ('refused' in changed) throw new Error(changed.refused);
  }

  /** Its receiver has answered that it is permanently gone. */
  private async gone(url: string): Promise<void> {
    const found = await this.core.webhooks.find(this.scope, url);
    if (found === undefined) throw new Error('an endpoint of the demo is missing');
    const { endpointId, activeSince } = found;
    const which = { endpointId, activeSince, because: 'GONE' } as const;
    const changed = await this.core.webhooks.disable(this.metaOf('Disable'), which);
    if ('refused' in changed) throw new Error(changed.refused);
  }

  private async closes(period: string): Promise<void> {
    const remark = { period, comment: 'compared with the books' };
    await this.asOperator('fay', 'ledger close', (core, meta) =>
      changePeriodWithAudit(core, meta, 'ClosePeriod', remark),
    );
  }

  /** @param by who approves it; undefined: it waits. */
  private async corrected(account: DemoAccount, by: string | undefined): Promise<void> {
    const request = {
      accountId: account.accountId,
      userId: account.owner.userId,
      unit: 'CENTS',
      amount: by === undefined ? 300 : 750,
      reason: by === undefined ? 'promised on the phone' : 'lost in the move of the shop',
    };
    const { id } = await this.asOperator('fay', 'ledger propose', (core, meta) =>
      proposeWithAudit(core, meta, request),
    );
    const name = proposalNameOf(id);
    if (by === undefined || name === undefined) return;
    await this.asOperator(by, 'ledger approve', (core, meta) =>
      approveWithAudit(core, { name, meta, now: this.past.now() }),
    );
  }

  private async asOperator<T>(
    name: string,
    operation: string,
    work: (core: Core, meta: StaffMeta) => Promise<Done<T>>,
  ): Promise<T> {
    const warn = (line: string): never => {
      throw new Error(line);
    };
    const by = { name, channel: 'console' } as const;
    return auditedOn(this.core, { scope: this.scope, by, operation, warn }, work);
  }
}

/** No such hosts: what is sent there fails. */
const CLOSED_SHOP = 'https://old-shop.invalid/referrals';
const UNREACHABLE = 'https://billing.invalid/referrals';

const personRequest = (person: DemoPerson): AccountCommand => {
  const { userId, firstName, lastName, email, code } = person;
  return {
    type: 'UpsertUser',
    userId,
    changes: { firstName, lastName, email },
    referralCode: code,
    referralCodes: {},
    paymentProviderId: undefined,
    codes: [],
  };
};

const orderRequest = ({ userId }: DemoPerson, total: number): AccountCommand => ({
  type: 'ReceiveUserEvents',
  userId,
  events: [{ id: undefined, key: 'order', fields: { total }, dateTriggered: undefined }],
  idempotencyKey: undefined,
});

interface Moment {
  readonly at: number;
  readonly steps: readonly Step[];
  readonly office: readonly OfficeDeed[];
}

/** What happens at one time, together. */
function momentsOf(steps: readonly Step[], office: readonly OfficeDeed[]): readonly Moment[] {
  const moments = new Map<number, { steps: Step[]; office: OfficeDeed[] }>();
  const of = (at: number) => {
    const found = moments.get(at) ?? { steps: [], office: [] };
    moments.set(at, found);
    return found;
  };
  for (const step of steps) of(step.at).steps.push(step);
  for (const deed of office) of(deed.at).office.push(deed);
  return [...moments].map(([at, moment]) => ({ at, ...moment })).sort((a, b) => a.at - b.at);
}

const firstOfLastMonth = (now: number): number => {
  const today = new Date(now);
  return Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - 1);
};

/** `YYYY-MM`. */
const monthBeforeLast = (now: number): string =>
  new Date(firstOfLastMonth(now) - 1).toISOString().slice(0, 7);
