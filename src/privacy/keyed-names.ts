import { createHash, createHmac } from 'node:crypto';
import type { AccountRef, Scope } from '../domain/scope.js';

/**
 * Names of streams and things. What a client chose (often an e-mail address) never stands in a
 * name, because a name cannot be erased: a keyed hash stands for it, and scope and kind go into the
 * hash, so equal ids of two tenants or modes have nothing in common.
 */
export class KeyedNames {
  constructor(private readonly key: Buffer) {}

  accountRef(scope: Scope, accountId: string): AccountRef {
    return this.hash('account', scope.tenant, scope.mode, accountId);
  }

  /** Names a user within its account where the id itself may not stand, 32 hex digits. */
  userRef(scope: Scope, account: AccountRef, userId: string): string {
    return this.hash('user', scope.tenant, scope.mode, account, userId);
  }

  /** Who looked at the personal data of an account's people. */
  auditStream(scope: Scope, account: AccountRef): string {
    return this.stream('audit', scope, account);
  }

  /** Codes compare without case. */
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

  accountStream(scope: Scope, account: AccountRef): string {
    return this.stream('account', scope, account);
  }

  moderationStream(scope: Scope, moderationId: string): string {
    return this.stream('moderation', scope, moderationId);
  }

  /** Which tank codes are not free; one per tenant and mode. */
  tankCodesStream(scope: Scope): string {
    return this.stream('tank', scope, this.hash('tank', scope.tenant, scope.mode));
  }

  /**
   * Where a code's link was followed, on one day (UTC): a link that everybody follows makes many
   * short streams, not one without end.
   */
  shareLinkStream(scope: Scope, code: string, day: string): string {
    return this.stream(
      'share',
      scope,
      this.hash('share', scope.tenant, scope.mode, code.toLowerCase(), day),
    );
  }

  /** Which months of the ledger are closed; one per tenant and mode. */
  periodsStream(scope: Scope): string {
    return this.stream('periods', scope, this.hash('periods', scope.tenant, scope.mode));
  }

  /** What operators did, on one day (UTC): so that no stream grows without end. */
  operationsStream(scope: Scope, day: string): string {
    return this.stream('operations', scope, this.hash('operations', scope.tenant, scope.mode, day));
  }

  tenantStream(alias: string): string {
    return `${STREAM_PREFIX}tenant-${this.hash('tenant', alias)}`;
  }

  /** The one stream that lists all tenants. */
  tenantRegisterStream(): string {
    return `${STREAM_PREFIX}tenants`;
  }

  /** A keyed digest of anything a client sent, 64 hex digits. */
  digest(...parts: readonly string[]): string {
    return this.hmac(parts).toString('hex');
  }

  private stream(kind: string, { tenant, mode }: Scope, name: string): string {
    return `${STREAM_PREFIX}${kind}-${mode}.${tenant}.${name}`;
  }

  private hash(...parts: readonly string[]): string {
    return this.hmac(parts).subarray(0, 16).toString('hex');
  }

  private hmac(parts: readonly string[]): Buffer {
    // JSON keeps the parts apart: ["a","bc"] and ["ab","c"] differ.
    return createHmac('sha256', this.key).update(JSON.stringify(parts)).digest();
  }
}

/** All streams of this service begin so, whatever else lives in the same store. */
export const STREAM_PREFIX = 'referral-';

const OWN =
  /^referral-(?:(?:account|audit|code|payment|moderation|tank|share|periods|operations)-(?:live|test)\.[^.]+\.[^.]+|tenant-[^.]+|tenants)$/;

/**
 * Whether a name is one that this service gives. In a store that others use, too, somebody may have
 * taken a name that begins like ours.
 */
export const isOwnStream = (stream: string): boolean => OWN.test(stream);

/**
 * What an account's stream is called after: the last part of its name. Undefined for streams of
 * another kind.
 */
export function accountRefOf(stream: string): AccountRef | undefined {
  return stream.startsWith(`${STREAM_PREFIX}account-`)
    ? stream.slice(stream.lastIndexOf('.') + 1)
    : undefined;
}

/**
 * The tenant and mode that a stream is of; undefined for those of a tenant's settings, and for
 * streams of others.
 */
export function scopeOfStream(stream: string): Scope | undefined {
  const [, mode, tenant] = /^referral-[a-z]+-(live|test)\.([^.]+)\.[^.]+$/.exec(stream) ?? [];
  return tenant !== undefined && (mode === 'live' || mode === 'test')
    ? { tenant, mode }
    : undefined;
}

/**
 * Ids of referrals and rewards begin with the account they live in, so that they are found without
 * a look-up table.
 */
export function idWithin(account: AccountRef, cause: string): string {
  return account + createHash('sha256').update(cause).digest('hex').slice(0, 16);
}

/** The account that an id of ours lives in; undefined when it is none of ours. */
export function accountOfId(id: string): AccountRef | undefined {
  return /^[0-9a-f]{48}$/.test(id) ? id.slice(0, 32) : undefined;
}
