import { createHash, createHmac } from 'node:crypto';
import { LEDGER_MODE, scopeOf, type AccountRef, type Scope } from '../domain/scope.js';

/**
 * Names of streams and things. A name cannot be erased, so it never contains a client's text (often
 * an e-mail address) but a keyed hash of it; scope and kind are hashed, too, so equal ids of two
 * tenants or modes have different names.
 */
export class KeyedNames {
  constructor(private readonly key: Buffer) {}

  accountRef(scope: Scope, accountId: string): AccountRef {
    return this.hash('account', scope.tenant, scope.mode, accountId);
  }

  /** Names a user within its account, where the id itself must not appear; 32 hex digits. */
  userRef(scope: Scope, account: AccountRef, userId: string): string {
    return this.hash('user', scope.tenant, scope.mode, account, userId);
  }

  /** The accesses to the personal data of an account. */
  auditStream(scope: Scope, account: AccountRef): string {
    return this.stream('audit', scope, account);
  }

  /** Codes are compared without case. */
  codeStream(scope: Scope, code: string): string {
    return this.stream(
      'code',
      scope,
      this.hash('code', scope.tenant, scope.mode, code.toLowerCase()),
    );
  }

  paymentProviderIdStream(scope: Scope, id: string): string {
    return this.stream('payment', scope, this.hash('payment', scope.tenant, scope.mode, id));
  }

  /** What the provider told about a customer; the last part is that of the id's reservation. */
  customerStream(scope: Scope, id: string): string {
    return this.stream('customer', scope, this.hash('payment', scope.tenant, scope.mode, id));
  }

  /** An event of the provider that is about no customer. */
  providerEventStream(scope: Scope, eventId: string): string {
    const name = this.hash('provider event', scope.tenant, scope.mode, eventId);
    return this.stream('customer', scope, name);
  }

  /** Names an event of the provider, whoever it is about. */
  providerEventRef({ tenant, mode }: Scope, eventId: string): string {
    return this.digest('provider event', tenant, mode, eventId).slice(0, 32);
  }

  /** Of an object of the provider: it names the object when the id is erased. */
  providerObjectRef({ tenant, mode }: Scope, kind: 'invoice' | 'subscription', id: string): string {
    return this.digest(`provider ${kind}`, tenant, mode, id).slice(0, 32);
  }

  accountStream(scope: Scope, account: AccountRef): string {
    return this.stream('account', scope, account);
  }

  moderationStream(scope: Scope, moderationId: string): string {
    return this.stream('moderation', scope, moderationId);
  }

  /** The codes that are not free; one stream per tenant and mode. */
  tankCodesStream(scope: Scope): string {
    return this.stream('tank', scope, this.hash('tank', scope.tenant, scope.mode));
  }

  /**
   * The visits of a code's link on one day (UTC): a popular link has many short streams, not an
   * endless one.
   */
  shareLinkStream(scope: Scope, code: string, day: string): string {
    return this.stream(
      'share',
      scope,
      this.hash('share', scope.tenant, scope.mode, code.toLowerCase(), day),
    );
  }

  /** The closed months of the ledger; one stream per tenant and mode. */
  periodsStream(scope: Scope): string {
    return this.stream('periods', scope, this.hash('periods', scope.tenant, scope.mode));
  }

  /** Operators' actions on one day (UTC), so that no stream grows without limit. */
  operationsStream(scope: Scope, day: string): string {
    return this.stream('operations', scope, this.hash('operations', scope.tenant, scope.mode, day));
  }

  /** The beginning of the names of these streams. */
  operationsStreams(scope: Scope): string {
    return this.stream('operations', scope, '');
  }

  /** @param exportId of ours. */
  exportStream(scope: Scope, exportId: string): string {
    return this.stream('export', scope, exportId);
  }

  /** Changes of a tenant's themes on one day (UTC), so that no stream grows without limit. */
  themeStream(scope: Scope, day: string): string {
    return this.stream('theme', scope, this.hash('theme', scope.tenant, scope.mode, day));
  }

  /**
   * The corrections that were proposed on one day (UTC). Named as a stream of operators' actions,
   * which earlier releases know as their own.
   */
  proposalsStream(scope: Scope, day: string): string {
    return this.stream('operations', scope, this.hash('proposals', scope.tenant, scope.mode, day));
  }

  /** A row of an import with an id of another program. @param ref of `importedRowRef`. */
  importedRowStream(scope: Scope, ref: string): string {
    return this.stream('import', scope, ref);
  }

  /** The identity of a row of an import; 32 hex digits. */
  importedRowRef({ tenant, mode }: Scope, kind: string, ...parts: readonly string[]): string {
    return this.hash('imported row', tenant, mode, kind, ...parts);
  }

  tenantStream(alias: string): string {
    return `${STREAM_PREFIX}tenant-${this.hash('tenant', alias)}`;
  }

  /** The one stream that lists all tenants. */
  tenantRegisterStream(): string {
    return `${STREAM_PREFIX}tenants`;
  }

  /** A keyed digest of a client's text, 64 hex digits. */
  digest(...parts: readonly string[]): string {
    return this.hmac(parts).toString('hex');
  }

  private stream(kind: string, { tenant, mode }: Scope, name: string): string {
    return `${STREAM_PREFIX}${kind}-${mode}.${tenant}.${name}`;
  }

  private hash(...parts: readonly string[]): string {
    return this.hmac(parts).subarray(0, 16).toString('hex');
  }

  protected hmac(parts: readonly string[]): Buffer {
    // JSON separates the parts: ["a","bc"] and ["ab","c"] differ.
    return createHmac('sha256', this.key).update(JSON.stringify(parts)).digest();
  }
}

/** The prefix of all streams of this service, in a store that others may share. */
export const STREAM_PREFIX = 'referral-';

const KINDS =
  'account|audit|code|payment|moderation|tank|share|periods|operations|export|theme|customer|import';
const OWN = new RegExp(
  `^referral-(?:(?:${KINDS})-(?:${LEDGER_MODE})\\.[^.]+\\.[^.]+|tenant-[^.]+|tenants)$`,
);

/**
 * Whether a name has the form of this service's names. In a shared store others may use our prefix.
 */
export const isOwnStream = (stream: string): boolean => OWN.test(stream);

/**
 * The account hash in an account's stream name (its last part). Undefined for other kinds of
 * streams.
 */
export function accountRefOf(stream: string): AccountRef | undefined {
  return stream.startsWith(`${STREAM_PREFIX}account-`)
    ? stream.slice(stream.lastIndexOf('.') + 1)
    : undefined;
}

/** The reservation of the id that a customer's stream is named by. */
export const reservationOfCustomer = (stream: string): string =>
  stream.replace(`${STREAM_PREFIX}customer-`, `${STREAM_PREFIX}payment-`);

/** Whether it is the stream of an export. */
export const isExportStream = (stream: string): boolean =>
  stream.startsWith(`${STREAM_PREFIX}export-`);

/** Whether it is a stream of themes. */
export const isThemeStream = (stream: string): boolean =>
  stream.startsWith(`${STREAM_PREFIX}theme-`);

/** The tenant and mode of a stream; undefined for tenants' settings and for foreign streams. */
export function scopeOfStream(stream: string): Scope | undefined {
  const [, mode, tenant] = SCOPED.exec(stream) ?? [];
  return tenant !== undefined && mode !== undefined ? scopeOf({ tenant, mode }) : undefined;
}

const SCOPED = new RegExp(`^referral-[a-z]+-(${LEDGER_MODE})\\.([^.]+)\\.[^.]+$`);

/**
 * Ids of referrals and rewards begin with their account's hash, so that no look-up table is needed.
 */
export function idWithin(account: AccountRef, cause: string): string {
  return account + createHash('sha256').update(cause).digest('hex').slice(0, 16);
}

/** The account of such an id; undefined for foreign ids. */
export function accountOfId(id: string): AccountRef | undefined {
  return /^[0-9a-f]{48}$/.test(id) ? id.slice(0, 32) : undefined;
}
