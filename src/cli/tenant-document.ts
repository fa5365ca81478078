import type { Core } from '../stores/core.js';
import type { Refused } from '../domain/refusal.js';
import { CALL_WINDOWS, COUNTED_CALLS, publicUserOf } from '../domain/tenant/open-rules.js';
import { programsOf } from '../domain/tenant/program-document.js';
import type { OpenTenant } from '../domain/tenant/tenant.decider.js';
import { checkAlias } from './arguments.js';
import { CommandError } from './command-error.js';
import { printJson, printTable, withCore } from './command-line.js';
import { ownMember } from '../domain/own-member.js';

/** A tenant as the command line shows it: its settings, never a secret. */

const timeText = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString();

export function shown(tenant: OpenTenant) {
  return {
    alias: tenant.alias,
    createdAt: timeText(tenant.createdAt),
    programType: tenant.programType,
    openEndpoints: tenant.openEndpoints,
    tokensMustExpire: tenant.openRules.tokensMustExpire,
    allowedOrigins: tenant.openRules.allowedOrigins,
    rateLimits: Object.fromEntries(
      COUNTED_CALLS.map((call) => [
        call,
        tenant.openRules.rateLimits[call] ?? CALL_WINDOWS[call].calls,
      ]),
    ),
    publicUser: publicUserOf(tenant.openRules),
    defaultProgram: tenant.defaultProgramId,
    programs: programsOf(tenant).map(({ id, version, isDefault }) => ({
      id,
      version,
      default: isDefault,
      document: ownMember(tenant.programs, id)?.document,
    })),
    suspended: tenant.suspended && {
      since: timeText(tenant.suspended.since),
      reason: tenant.suspended.reason,
    },
    tokensNotBefore: timeText(tenant.tokensNotBefore),
    keys: tenant.keys.map(({ keyId, mode, validUntil }) => ({
      keyId,
      mode,
      validUntil: timeText(validUntil),
    })),
    signingSecrets: tenant.signingSecrets.map(({ secretId, mode, validUntil }) => ({
      secretId,
      mode,
      validUntil: timeText(validUntil),
    })),
  };
}

/** With the settings of mails, whose addresses are read with the service's key. */
export const shownWithMail = async (
  { mailTestAddresses }: Pick<Core, 'mailTestAddresses'>,
  tenant: OpenTenant,
) => ({
  ...shown(tenant),
  mail: {
    types: Object.keys(tenant.mails.types),
    testTo: await mailTestAddresses.of(tenant),
    domains: tenant.mails.domains,
  },
});

export function show(
  facts: Awaited<ReturnType<typeof shownWithMail>>,
  json: boolean | undefined,
): void {
  if (json) return printJson(facts);
  printTable(
    ['setting', 'value'],
    [
      ['alias', facts.alias],
      ['made', facts.createdAt ?? ''],
      ...(facts.suspended === null
        ? []
        : [['suspended', `since ${facts.suspended.since}: ${facts.suspended.reason ?? ''}`]]),
      ['program type', facts.programType],
      ['open endpoints', facts.openEndpoints ? 'on' : 'off'],
      ['user tokens must expire', facts.tokensMustExpire ? 'yes' : 'no'],
      ['user tokens not before', facts.tokensNotBefore ?? 'of any age'],
      ['allowed origins', facts.allowedOrigins.join(', ') || 'all'],
      ...Object.entries(facts.rateLimits).map(([call, calls]) => [
        'rate limit',
        `${call}: ${calls}`,
      ]),
      ['public user', facts.publicUser],
      ['mails', facts.mail.types.join(', ') || 'none'],
      ['mails of the test mode go to', facts.mail.testTo.join(', ') || 'nobody'],
      ['mails may be from the domains', facts.mail.domains.join(', ') || 'none'],
      ...facts.programs.map(({ id, version, default: isDefault }) => [
        'program',
        `${id}, version ${version}${isDefault ? ', default' : ''}`,
      ]),
      ...facts.keys.map(({ keyId, validUntil }) => ['API key', withEnd(keyId, validUntil)]),
      ...facts.signingSecrets.map(({ secretId, validUntil }) => [
        'signing secret',
        withEnd(secretId, validUntil),
      ]),
    ],
  );
}

const withEnd = (id: string, validUntil: string | null): string =>
  validUntil === null ? id : `${id}, good until ${validUntil}`;

/** @throws {CommandError} for an unknown tenant. */
export async function existing(alias: string): Promise<OpenTenant> {
  checkAlias(alias);
  return withCore((core) => existingIn(core, alias));
}

/** @throws {CommandError} for an unknown tenant. */
export async function existingIn(
  { tenants }: Pick<Core, 'tenants'>,
  alias: string,
): Promise<OpenTenant> {
  const tenant = await tenants.read(alias);
  if (!tenant) throw new CommandError(`there is no tenant ${alias}`);
  return tenant;
}

/** The result of a tenant's command. @throws {CommandError} for a refused one. */
export function accepted<T extends object>(result: T | Refused, alias: string): T {
  if (!('refused' in result)) return result;
  switch (result.refused) {
    case 'TENANT_EXISTS':
      throw new CommandError(`there is a tenant ${alias} already`);
    case 'TENANT_NOT_FOUND':
      throw new CommandError(`there is no tenant ${alias}`);
    case 'RECORD_TOO_LARGE':
      throw new CommandError(
        'the program file is too large: a pool of codes is filled up by applying the program again with the next ones',
      );
    default:
      throw new CommandError(`refused: ${result.refused}`);
  }
}
