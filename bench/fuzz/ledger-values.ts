import type { Mode } from '../../src/domain/scope.js';
import type { Slot, SlotKind } from './slots.js';

/** Part of every mark. Not part of any word, id or code. */
export const MARK = 'qzx';

/** One tenant in one mode. */
export interface Ledger {
  readonly tenant: string;
  readonly mode: Mode;
  readonly apiKey: string;
  readonly signingSecret: string;
  /** Part of every text that is made for it, and of nothing else. */
  readonly mark: string;
  /** What the service may call: the place of endpoints and of the payment provider. */
  readonly outside?: string;
  /** Its tenant belongs to a payment provider. */
  readonly hasProvider?: boolean;
}

export interface Person {
  readonly accountId: string;
  readonly userId: string;
}

/** The newest values of a kind that are kept. */
const KEPT_MAX = 60;
const ODD_TAILS = ['', '', '', '', ' a/b', '%2F', '@é', '..', '💥', '?x=1&y#z'];
/** Of answers: what a member with this name holds. */
const KIND_OF_MEMBER: Readonly<Record<string, SlotKind>> = {
  code: 'code',
  referralCode: 'code',
  cookieId: 'cookie',
  fuelTankCode: 'tank',
  paymentProviderId: 'payment',
  position: 'position',
  endpointUrl: 'endpoint',
  unit: 'unit',
};
/** Two ledgers may have chosen the same code. */
const MADE_BY_SERVICE: ReadonlySet<SlotKind> = new Set(['reward', 'referral', 'export']);

/** Signs the events of the payment provider, however often the ledger is connected. */
export const providerSecretOf = ({ mark }: Ledger): string => `whsec_${mark}`;

/** The values of one ledger: from its earlier answers, and new ones with its mark. */
export class LedgerValues {
  /** Ids, made by the service, that the ledger's answers have shown. */
  readonly shown = new Set<string>();
  private readonly known = new Map<SlotKind, string[]>();
  private readonly persons: Person[] = [];
  private made = 0;

  constructor(readonly ledger: Ledger) {}

  /**
   * The person that a request is about: mostly a known one. The oldest ones are deleted, so that
   * younger ones grow a past.
   */
  person(draw: number, isOld: boolean): Person {
    const count = isOld ? Math.ceil(this.persons.length / 4) : this.persons.length;
    const candidates = this.persons.slice(0, count);
    const found = candidates[draw % Math.max(1, candidates.length)];
    if (found !== undefined && draw % 7 > 0) return found;
    const account = draw % 2 === 0 ? undefined : this.pick('account', draw);
    return { accountId: account ?? this.newId('a', draw), userId: this.newId('u', draw) };
  }

  /** @param subject the person that the request is about. */
  valueOf({ kind, draw, tail }: Slot, subject: Person): string {
    const { mark, tenant, mode } = this.ledger;
    const number = draw.toString(36);
    switch (kind) {
      case 'account':
        return draw % 8 === 0
          ? (this.pick(kind, draw) ?? this.newId('a', draw))
          : subject.accountId;
      case 'user':
        return draw % 8 === 0 ? this.person(draw, false).userId : subject.userId;
      case 'new-code':
        return (draw % 6 === 0 ? this.pick('code', draw) : undefined) ?? `${mark}${this.next()}`;
      case 'key':
        return draw % 4 === 0 ? this.knownOrNew(kind, draw) : this.newKey();
      case 'position':
        return this.pick(kind, draw) ?? '1';
      case 'payment':
      case 'tank':
        return draw % 4 === 0 ? this.knownOrNew(kind, draw) : this.newId(kind, draw);
      case 'code':
      case 'credit':
      case 'reward':
      case 'referral':
      case 'run':
      case 'cookie':
      case 'export':
      case 'delivery':
      case 'proposal':
        return draw % 12 === 0 ? `${mark}${this.next()}` : this.knownOrNew(kind, draw);
      case 'text':
        return `${mark}${number}${tail}`;
      case 'email':
        return `${mark}.${number}@example.com`;
      // Without a mail server no mail is sent.
      case 'mail-to':
        return this.ledger.outside === undefined ? 'no-address' : `${mark}.${number}@example.com`;
      case 'endpoint':
        return (
          (draw % 3 === 0 ? undefined : this.pick(kind, draw)) ??
          `${this.ledger.outside ?? `https://${mark}.example`}/${mark}/${draw % 20}`
        );
      case 'provider':
        return this.ledger.outside ?? 'http://127.0.0.1:1';
      case 'provider-key':
        return `sk_${mode}_${mark}${number}`;
      case 'provider-secret':
        return providerSecretOf(this.ledger);
      case 'tenant':
        return tenant;
      case 'mode':
        return mode;
      case 'unit':
        return this.pick(kind, draw) ?? 'CENTS';
      case 'projection':
        return this.pick(kind, draw) ?? 'accounts';
      case 'approver':
        return draw % 2 === 0 ? 'fay' : 'sam';
    }
  }

  /**
   * Remembers what later requests may name. @param answer accepted.
   * @param isOwn it is known to be of this ledger.
   */
  learn(answer: unknown, isOwn = true): void {
    if (Array.isArray(answer)) return answer.slice(0, 5).forEach((item) => this.learn(item, isOwn));
    if (typeof answer !== 'object' || answer === null) return;
    const members = new Map<string, unknown>(Object.entries(answer));
    const [id, accountId] = [members.get('id'), members.get('accountId')];
    if (typeof id === 'string') {
      const kind = kindOf(members);
      if (kind !== undefined) this.remember(kind, id, isOwn);
      if (typeof accountId === 'string' && members.has('referralCode'))
        this.rememberPerson({ accountId, userId: id });
      if (members.get('type') === 'CREDIT') this.remember('credit', id, isOwn);
    }
    const name = members.get('name');
    if (members.has('lagEvents') && typeof name === 'string') this.remember('projection', name);
    for (const [name, value] of members) {
      const kind = Object.hasOwn(KIND_OF_MEMBER, name) ? KIND_OF_MEMBER[name] : undefined;
      if (kind !== undefined && typeof value === 'string') this.remember(kind, value, isOwn);
      this.learn(value, isOwn);
    }
  }

  remember(kind: SlotKind, value: string, isOwn = true): void {
    if (isOwn && MADE_BY_SERVICE.has(kind)) this.shown.add(value);
    const values = this.known.get(kind) ?? [];
    if (values.includes(value) || this.isOfAnother(value)) return;
    this.known.set(kind, [...values, value].slice(-KEPT_MAX));
  }

  /** An answer may repeat what its request said. */
  private isOfAnother(value: string): boolean {
    const text = value.toLowerCase();
    return text.includes(MARK) && !text.includes(this.ledger.mark);
  }

  private rememberPerson(person: Person): void {
    const { accountId, userId } = person;
    if (this.persons.some((known) => known.userId === userId && known.accountId === accountId))
      return;
    if (this.isOfAnother(userId) || this.isOfAnother(accountId)) return;
    this.persons.push(person);
    if (this.persons.length > KEPT_MAX) this.persons.shift();
    this.remember('account', accountId);
  }

  private pick(kind: SlotKind, draw: number): string | undefined {
    const values = this.known.get(kind) ?? [];
    return values[draw % Math.max(1, values.length)];
  }

  private knownOrNew(kind: SlotKind, draw: number): string {
    return this.pick(kind, draw) ?? this.newId(kind, draw);
  }

  private newKey(): string {
    const key = `${this.ledger.mark}-key-${this.next()}`;
    this.remember('key', key);
    return key;
  }

  private newId(kind: string, draw: number): string {
    return `${this.ledger.mark}-${kind}-${this.next()}${ODD_TAILS[draw % ODD_TAILS.length] ?? ''}`;
  }

  private next(): string {
    this.made += 1;
    return this.made.toString(36);
  }
}

/** What a described object is, by members that only this kind has. */
function kindOf(members: ReadonlyMap<string, unknown>): SlotKind | undefined {
  if (members.has('rewardSource')) return 'reward';
  if (members.has('referredModerationStatus')) return 'referral';
  if (members.has('subscription')) return 'account';
  if (members.has('requester')) return 'export';
  if (members.has('attempts')) return 'delivery';
  if (members.has('proposedBy') || members.has('expiresAt')) return 'proposal';
  return members.has('startedAt') ? 'run' : undefined;
}
